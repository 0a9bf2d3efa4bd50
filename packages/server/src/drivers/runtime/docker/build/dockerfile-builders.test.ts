import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeNeeding, partOf } from '../../../../../../../tests/kit/machine.ts'
import { type BuildPlan, emptyPlan } from '../../build-plan.ts'
import type { Artifact, BuildRequest, Runtime } from '../../runtime.ts'
import { createDockerRuntime } from '../docker-runtime.ts'
import { type Engine, openEngine } from '../engine.ts'
import { readIdentity } from '../identity.ts'
import { removeEverythingOf } from '../remove-everything.ts'
import { retryWhileMeasuring } from '../run/volume-sizes.ts'

const neverAborted = new AbortController().signal
const builders = ['buildkit', 'classic'] as const

/** The steps that made the records of the build cache. Other tests measure the same engine, which refuses a second measurement. */
async function cacheDescriptions(engine: Engine): Promise<string[]> {
  const { BuildCache } = (await retryWhileMeasuring(() => engine.df())) as { BuildCache?: { Description: string }[] | null }
  return (BuildCache ?? []).map(({ Description }) => Description)
}

/** Behaviour that both builders of the engine must have. */
describeNeeding(['docker', 'busyboxImage'], 'A Dockerfile', () => {
  const seed = randomBytes(6).toString('hex')
  const secret = `canary-${randomBytes(8).toString('hex')}`
  const folders: string[] = []
  const lines: string[] = []
  let engine: Engine
  let base: string
  let runtimes: Record<(typeof builders)[number], Runtime>
  let count = 0

  const folder = async (files: Record<string, string> = {}) => {
    const path = await mkdtemp(join(tmpdir(), 'berth-builders-'))
    folders.push(path)
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(path, name)), { recursive: true })
      await writeFile(join(path, name), text)
    }
    return path
  }
  const build = async (
    builder: (typeof builders)[number],
    files: Record<string, string> | string,
    { projectId = `prj_${seed}${builder}`, source = '', request = {}, ...changes }: BuildOptions = {},
  ) => {
    lines.length = 0
    return runtimes[builder].build(
      {
        owner: { projectId, deploymentId: `dep_${seed}${count++}`, environment: 'production' },
        service: '',
        sourceFolder: source || (await folder(typeof files === 'string' ? { Dockerfile: files } : files)),
        plan: { ...emptyPlan, kind: 'dockerfile', dockerfilePath: 'Dockerfile', ...changes },
        secrets: {},
        resources: { cpuCores: 1, memoryMb: 256, diskMb: 2000 },
        timeoutMs: 120_000,
        ...request,
      },
      ({ message }) => lines.push(message),
      neverAborted,
    )
  }
  interface BuildOptions extends Partial<BuildPlan> {
    projectId?: string
    source?: string
    request?: Partial<BuildRequest>
  }
  /** Files of the image below a folder. */
  const filesIn = async ({ reference }: Artifact, path: string) => {
    const Cmd = ['sh', '-c', `cd ${path} && find . | sort`]
    const container = await engine.createContainer({ Image: reference, Cmd, HostConfig: { NetworkMode: 'none' } })
    try {
      await container.start()
      await container.wait()
      const output = (await container.logs({ stdout: true })) as unknown as Buffer
      return output.toString('latin1').match(/\.\/[^\n]*/g) ?? []
    } finally {
      await container.remove({ force: true })
    }
  }
  /** Counts images and cache records, of any owner, that were created by a step containing the word. */
  const leftOf = async (word: string) => {
    const images = await engine.listImages({ all: true })
    const histories = images.map(async ({ Id }) =>
      JSON.stringify(
        await engine
          .getImage(Id)
          .history()
          .catch(() => ''),
      ),
    )
    const all = [...(await Promise.all(histories)), ...(await cacheDescriptions(engine))]
    return all.filter((text) => text.includes(word)).length
  }

  beforeAll(async () => {
    base = partOf('busyboxImage')
    const common = { socketPath: partOf('docker'), imageMirror: null }
    engine = openEngine(common.socketPath)
    runtimes = {
      buildkit: createDockerRuntime({ ...common, folder: await folder() }),
      classic: createDockerRuntime({ ...common, folder: await folder(), prefersBuildKit: false }),
    }
  })
  afterAll(async () => {
    for (const runtime of Object.values(runtimes)) await runtime.close()
    for (const path of folders.slice(0, 2)) await removeEverythingOf(readIdentity(path).instance, partOf('docker'))
    for (const path of folders) await rm(path, { recursive: true, force: true })
  })

  test('is built by BuildKit if the engine has it and can limit its steps', async () => {
    await build('buildkit', `FROM ${base}\nRUN echo ${seed}\n`)
    expect(lines).toContain('Building with BuildKit')
    await build('classic', `FROM ${base}\nRUN echo ${seed}\n`)
    expect(lines).toContain('Building the Dockerfile')
    expect(lines.join('\n')).not.toMatch(/LABEL|berth\.instance/)
  })

  test.each(
    builders.flatMap((builder) => [
      { builder, what: 'one step', steps: ['write /one 48 && sleep 600'] },
      { builder, what: 'several steps together', steps: ['write /one 20', 'write /two 20 && sleep 600'] },
    ]),
  )('$builder: a build over its disk limit is stopped while it writes: $what', async ({ builder, steps }) => {
    const write = (step: string) => step.replace(/write (\S+) (\d+)/, 'dd if=/dev/zero of=$1 bs=1048576 count=$2')
    const text = [`FROM ${base}`, ...steps.map((step) => `RUN : ${seed} && ${write(step)}`)].join('\n')
    const failed = build(builder, text, { request: { resources: { cpuCores: 1, memoryMb: 256, diskMb: 32 } } })
    await expect(failed).rejects.toMatchObject({
      code: 'disk_full',
      message: 'The build exceeded the build disk limit of 32 MB',
    })
  })

  test.each(builders)('%s: a result over the disk limit is refused, even if written faster than the check', async (builder) => {
    const text = `FROM ${base}\nRUN : ${seed} && dd if=/dev/zero of=/big bs=1048576 count=40\n`
    const request = { resources: { cpuCores: 1, memoryMb: 256, diskMb: 32 } }
    await expect(build(builder, text, { request })).rejects.toMatchObject({ code: 'disk_full' })
    expect(await build(builder, text, { request: { resources: { ...request.resources, diskMb: 64 } } })).toMatchObject({
      kind: 'image',
    })
  })

  test.each(builders)('%s: an unneeded stage is not built; the target is the result', async (builder) => {
    const text = [
      `FROM ${base} AS build`,
      `RUN echo made-${seed} > /made`,
      'FROM berth-test/there-is-none:1 AS test',
      'COPY --from=build /made /made',
      'RUN exit 1',
      `FROM ${base} AS web`,
      'COPY --from=build /made /web/made',
      'FROM web AS worker',
      'RUN echo worker > /web/worker',
    ].join('\n')
    expect(await filesIn(await build(builder, text), '/web')).toEqual(['./made', './worker'])
    expect(await filesIn(await build(builder, text, { dockerTarget: 'web' }), '/web')).toEqual(['./made'])
    await expect(build(builder, text, { dockerTarget: 'test' })).rejects.toThrow(/there-is-none/)
    await expect(build(builder, text, { dockerTarget: 'nothing' })).rejects.toThrow(
      'it has no stage "nothing"; its stages are: build, test, web, worker',
    )
  })

  test.each(builders)('%s: the image contains exactly the files of the project', async (builder) => {
    const files = {
      Dockerfile: `FROM ${base}\nCOPY . /app\n`,
      '.dockerignore': 'left\n**/*.log\n',
      'a/b/c.txt': 'c',
      'a-b.txt': 'sorts between',
      'a/x.log': '',
      left: '',
      'ü/ñ.txt': 'names',
      empty: '',
    }
    const source = await folder(files)
    await symlink('a/b', join(source, 'link'))
    const expected = ['.dockerignore', 'Dockerfile', 'a-b.txt', 'a', 'a/b', 'a/b/c.txt', 'empty', 'link', 'ü', 'ü/ñ.txt']
    const found = await filesIn(await build(builder, {}, { source }), '/app')
    expect(found.map((name) => Buffer.from(name, 'latin1').toString()).sort()).toEqual(expected.map((name) => `./${name}`).sort())
    await writeFile(join(source, '.dockerignore'), 'Dockerfile\n.dockerignore\na*\nü\nleft\n')
    expect((await filesIn(await build(builder, {}, { source }), '/app')).sort()).toEqual(['./empty', './link'])
  })

  test.each(builders)('%s: another control plane builds the same files from the cache', async (builder) => {
    const files = {
      Dockerfile: `FROM ${base}\nCOPY . /app\nRUN date +%N > /when\nRUN cat /when\n`,
      'large.bin': 'x'.repeat(300_000),
    }
    const first = await build(builder, files)
    const second = await build(builder, files)
    const [one, other] = await Promise.all([first, second].map(({ reference }) => engine.getImage(reference).inspect()))
    expect(one?.RootFS?.Layers).toEqual(other?.RootFS?.Layers)
  })

  test.each(builders)('%s: a file with the same size and time but other content is not taken from the cache', async (builder) => {
    const source = await folder({ Dockerfile: `FROM ${base}\nCOPY page /page\nRUN cat /page\n`, page: `one-${seed}` })
    const time = new Date(0)
    await utimes(join(source, 'page'), time, time)
    await build(builder, {}, { source })
    await writeFile(join(source, 'page'), `two-${seed}`)
    await utimes(join(source, 'page'), time, time)
    await build(builder, {}, { source })
    expect(lines).toContain(`two-${seed}`)
  })

  test.each(builders)(
    '%s: an ARG gets the variable of its name; a secret one stays empty, with a line in the log',
    async (builder) => {
      const text = `ARG BASE\nFROM \${BASE:-${base}}\nARG PLAIN\nARG SECRET\nARG GIVEN=default\nRUN echo "has $PLAIN,$SECRET,$GIVEN"\n`
      const secrets = { PLAIN: `plain-${seed}`, SECRET: secret, GIVEN: 'of the variable' }
      const buildArguments = { GIVEN: 'of the settings', UNUSED: 'x' }
      const made = await build(builder, text, { buildArguments, request: { secrets, secretKeys: ['SECRET'] } })
      expect(lines).toContain(`has plain-${seed},,of the settings`)
      expect(lines.join('\n')).toMatch(/ARG SECRET is left empty: the variable is secret.*--mount=type=secret,id=SECRET/)
      const image = engine.getImage(made.reference)
      expect(JSON.stringify([await image.inspect(), await image.history(), lines])).not.toContain(secret)
    },
  )

  test.each(builders)('%s: an image cannot be named by its id', async (builder) => {
    const { Id } = await engine.getImage(base).inspect()
    for (const id of [Id, Id.replace('sha256:', '')])
      for (const text of [`FROM ${id}\n`, `FROM ${base}\nCOPY --from=${id} /bin /x\n`])
        await expect(build(builder, text)).rejects.toThrow(
          /by its name and tag, not by its id|does not exist locally and could not be pulled|cannot be pulled by id/,
        )
  })

  test.each(builders)(
    '%s: remains of the builds of a project are removed with it, and those of other projects are kept',
    async (builder) => {
      const projectId = `prj_${seed}${builder}gone`
      const text = (word: string) =>
        [
          `FROM ${base} AS build`,
          `RUN head -c 1000 /dev/urandom > /made-${word}`,
          `FROM ${base} AS other`,
          'COPY . /source',
          `RUN head -c 1000 /dev/urandom > /other-${word}`,
          `FROM ${base}`,
          `COPY --from=build /made-${word} /made`,
          `COPY --from=other /other-${word} /other`,
        ].join('\n')
      const [going, staying] = [`${seed}${builder}going`, `${seed}${builder}staying`]
      const kept = await build(builder, { Dockerfile: text(staying), file: staying })
      for (const word of ['one', 'two', 'three'])
        await build(builder, { Dockerfile: text(`${going}${word}`), file: word }, { projectId })
      await expect(build(builder, `${text(`${going}failed`)}\nRUN exit 3\n`, { projectId })).rejects.toThrow()
      expect(await leftOf(going)).toBeGreaterThan(0)
      await runtimes[builder].removeBuilds(projectId, neverAborted)
      expect(await leftOf(going)).toBe(0)
      expect((await runtimes[builder].listArtifacts()).map(({ reference }) => reference)).toContain(kept.reference)
      const again = await build(builder, { Dockerfile: text(staying), file: staying })
      const [one, other] = await Promise.all([kept, again].map(({ reference }) => engine.getImage(reference).inspect()))
      expect(one?.RootFS?.Layers).toEqual(other?.RootFS?.Layers)
    },
  )

  test.each(builders)(
    '%s: after many builds of a project, only layers that the newest build can reuse are kept',
    async (builder) => {
      const projectId = `prj_${seed}${builder}many`
      const word = `${seed}${builder}many`
      const text = (at: number) =>
        `FROM ${base} AS one\nRUN echo ${word}${at} > /x\nFROM ${base} AS two\nCOPY --from=one /x /y\nRUN echo ${word} ${at}\nFROM ${base}\nCOPY --from=two /y /y\n`
      for (let at = 0; at < 3; at += 1) {
        const { reference } = await build(builder, text(at), { projectId })
        await runtimes[builder].removeArtifact({ kind: 'image', reference, sizeBytes: 1, startCommand: null }, neverAborted)
      }
      const stages = await engine.listImages({ filters: { label: ['berth.kind=stage', `berth.project=${projectId}`] } })
      expect(stages.length).toBeLessThanOrEqual(2)
    },
  )
})

describeNeeding(['docker', 'busyboxImage'], 'The build cache', () => {
  test('is limited: the least recently used records are removed, and those of others are neither counted nor removed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'berth-cache-'))
    const engine = openEngine(partOf('docker'))
    const [seed, maxBytes] = [randomBytes(6).toString('hex'), 3_000_000]
    const runtime = createDockerRuntime({ socketPath: partOf('docker'), folder, imageMirror: null, buildCacheBytes: maxBytes })
    const { instance } = readIdentity(folder)
    try {
      for (let at = 0; at < 5; at += 1) {
        await writeFile(
          join(folder, 'Dockerfile'),
          `FROM ${partOf('busyboxImage')} AS one\nRUN head -c 1000000 /dev/urandom > /${seed}-${at}\nFROM scratch\nCOPY --from=one /${seed}-${at} /x\n`,
        )
        await runtime.build(
          {
            owner: { projectId: `prj_${seed}`, deploymentId: `dep_${seed}${at}`, environment: 'production' },
            service: '',
            sourceFolder: folder,
            plan: { ...emptyPlan, kind: 'dockerfile', dockerfilePath: 'Dockerfile' },
            secrets: {},
            resources: { cpuCores: 1, memoryMb: 256, diskMb: 2000 },
            timeoutMs: 120_000,
          },
          () => undefined,
          neverAborted,
        )
      }
      const { cacheBytes, cacheMaxBytes, projects } = await runtime.storage(neverAborted)
      expect(cacheMaxBytes).toBe(maxBytes)
      expect(cacheBytes).toBeLessThanOrEqual(maxBytes)
      expect(cacheBytes).toBeGreaterThan(1_000_000)
      expect(projects).toMatchObject([{ projectId: `prj_${seed}`, cacheBytes: expect.any(Number) }])
      const there = (await cacheDescriptions(engine)).flatMap((text) => new RegExp(`> /${seed}-(\\d)`).exec(text)?.[1] ?? [])
      expect(there).toContain('4')
      expect(there).not.toContain('0')
      // The engine releases the records of the last build some time after its end; until then they cannot be removed.
      const clear = async () => {
        await runtime.clearBuildCache(neverAborted)
        return (await runtime.storage(neverAborted)).cacheBytes
      }
      await expect.poll(clear, { interval: 500 }).toBe(0)
    } finally {
      await runtime.removeBuilds(`prj_${seed}`, neverAborted)
      await runtime.close()
      await removeEverythingOf(instance, partOf('docker'))
      await rm(folder, { recursive: true, force: true })
    }
  })
})
