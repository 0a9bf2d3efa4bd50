import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeNeeding, partOf } from '../../../../../../tests/kit/machine.ts'
import { type BuildPlan, emptyPlan } from '../build-plan.ts'
import type { Artifact, Runtime, StartRequest } from '../runtime.ts'
import { ArtifactMissing } from '../runtime-errors.ts'
import { createDockerRuntime } from './docker-runtime.ts'
import { type Engine, openEngine } from './engine.ts'
import { readIdentity } from './identity.ts'
import { Labels } from './labels.ts'
import { removeEverythingOf } from './remove-everything.ts'
import { containerName } from './run/container-settings.ts'
import { execIn } from './run/exec.ts'
import { Networks } from './run/networks.ts'
import { removeLeftovers } from './sweep.ts'

const neverAborted = new AbortController().signal
const resources = { cpuCores: 1, memoryMb: 256, diskMb: 2000 }
const canary = `canary-${randomBytes(8).toString('hex')}`

const plan: BuildPlan = {
  ...emptyPlan,
  language: 'javascript',
  packageManager: 'npm',
  startCommand: 'node server.js',
  port: 3000,
}

/** A program that keeps forking after every failure. */
const forking = `setInterval(() => { for (let at = 0; at < 20; at++) require('child_process').spawn('sleep', ['600']).on('error', () => {}) }, 1)`

describeNeeding(['docker', 'nodeImage', 'busyboxImage'], 'Docker', () => {
  let folder: string
  let source: string
  let engine: Engine
  let runtime: Runtime
  /** A runtime that uses BuildKit only for Dockerfiles that need it, as on a server. */
  let classic: Runtime
  const lines: string[] = []
  const seed = randomBytes(4).toString('hex')
  const owner = (deployment: string) => ({
    projectId: `prj_${seed}`,
    deploymentId: `dep_${seed}${deployment}`,
    environment: 'production',
  })
  const build = (deployment: string, changes: Partial<BuildPlan>, by = runtime): Promise<Artifact> => {
    lines.length = 0
    return by.build(
      {
        owner: owner(deployment),
        service: '',
        sourceFolder: source,
        plan: { ...plan, ...changes },
        secrets: { NPM_TOKEN: canary },
        resources,
        timeoutMs: 60_000,
      },
      ({ message }) => lines.push(message),
      neverAborted,
    )
  }
  const startRequest = (artifact: Artifact, changes: Partial<StartRequest> = {}): StartRequest => ({
    instanceId: `ins_${seed}${randomBytes(3).toString('hex')}`,
    owner: owner('run'),
    service: '',
    artifact,
    command: null,
    entrypoint: null,
    env: {},
    port: null,
    volumes: [],
    network: null,
    resources,
    restart: false,
    ...changes,
  })
  const start = (artifact: Artifact, changes: Partial<StartRequest>) =>
    runtime.start(startRequest(artifact, changes), neverAborted)
  const busybox = (): Artifact => ({ kind: 'image', reference: partOf('busyboxImage'), sizeBytes: 0, startCommand: null })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-docker-'))
    source = await mkdtemp(join(tmpdir(), 'berth-source-'))
    const socketPath = partOf('docker')
    engine = openEngine(socketPath)
    runtime = createDockerRuntime({ socketPath, folder, imageMirror: null, baseImages: { node: partOf('nodeImage') } })
    classic = createDockerRuntime({ socketPath, folder, imageMirror: null, prefersBuildKit: false })
    await writeFile(join(source, 'package.json'), '{"name":"one","private":true}')
    await writeFile(join(source, 'server.js'), 'setInterval(() => {}, 1000)')
  })

  afterAll(async () => {
    for (const one of [runtime, classic]) await one.close()
    await removeEverythingOf(readIdentity(folder).instance, partOf('docker'))
    for (const one of [folder, source]) await rm(one, { recursive: true, force: true })
  })

  test('the error for a missing engine names the remedy to operators, and shows no path to tenants', async () => {
    const none = createDockerRuntime({ socketPath: '/nowhere/docker.sock', folder, imageMirror: null })
    const operatorMessage = expect.stringMatching(/No Docker engine at \/nowhere\/docker\.sock.*BERTH_DOCKER_SOCKET/)
    const message = expect.not.stringContaining('/nowhere')
    for (const call of [none.check(neverAborted), none.inspect('ins_none'), none.list()])
      await expect(call).rejects.toMatchObject({ name: 'EngineUnreachable', message })
    await expect(none.check(neverAborted)).rejects.toMatchObject({ operatorMessage })
    await none.close()
  })

  test('variables of a build are in no layer, no setting and no history of its image', async () => {
    const artifact = await build('secret', { buildCommand: 'node -e "if (!process.env.NPM_TOKEN) process.exit(1)"' })
    const image = engine.getImage(artifact.reference)
    expect(JSON.stringify([await image.inspect(), await image.history()])).not.toContain(canary)
    const chunks: Buffer[] = []
    // The layers of the base image are part of the export and cannot contain it.
    for await (const chunk of await image.get()) chunks.push(chunk as Buffer)
    expect(Buffer.concat(chunks).includes(canary)).toBe(false)
  })

  test('dependencies are installed again only when a manifest changes', async () => {
    const installs = { installCommand: 'npm install', buildCommand: null }
    await build('cache1', installs)
    expect(lines).toContain('$ npm install')
    await writeFile(join(source, 'server.js'), 'setInterval(() => {}, 2000)')
    await build('cache2', installs)
    expect(lines).not.toContain('$ npm install')
    await writeFile(join(source, 'package.json'), '{"name":"two","private":true}')
    await build('cache3', installs)
    expect(lines).toContain('$ npm install')
  })

  test('a project runs as an ordinary user and cannot become another', async () => {
    const artifact = await build('user', {})
    const { instanceId } = await start(artifact, {})
    const texts: string[] = []
    const argv = ['sh', '-c', 'id -u; grep -E "CapEff|NoNewPrivs" /proc/self/status']
    await runtime.exec(instanceId, { argv, onStdout: (chunk) => void texts.push(Buffer.from(chunk).toString()) }, neverAborted)
    const text = texts.join('')
    expect(text).toMatch(/^1000\n/)
    expect(text).toMatch(/CapEff:\s*0000000000000000/)
    expect(text).toMatch(/NoNewPrivs:\s*1/)
    await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  })

  test('build dependencies are left out if the project runs in another image', async () => {
    const baseImages = { node: partOf('nodeImage'), 'node-run': partOf('busyboxImage') }
    const small = createDockerRuntime({ socketPath: partOf('docker'), folder, imageMirror: null, baseImages })
    const artifact = await small.build(
      {
        owner: owner('small'),
        service: '',
        sourceFolder: source,
        plan: { ...plan, buildCommand: `node -e "require('fs').writeFileSync('made', 'here')"`, startCommand: 'sleep 60' },
        secrets: {},
        resources,
        timeoutMs: 60_000,
      },
      () => undefined,
      neverAborted,
    )
    const { instanceId } = await start(artifact, {})
    expect(await runtime.exec(instanceId, { argv: ['grep', 'here', '/app/made'] }, neverAborted)).toMatchObject({ exitCode: 0 })
    expect(artifact.sizeBytes).toBeLessThan(10_000_000)
    await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
    await small.close()
  })

  test("the project's own Dockerfile is built, without what .dockerignore names", async () => {
    const own = join(source, 'own')
    await mkdir(own)
    await writeFile(
      join(own, 'Dockerfile'),
      `FROM ${partOf('busyboxImage')}\nARG WORD\nCOPY . /files\nRUN echo "$WORD" > /files/word; ls /files\nCMD ["sleep", "60"]\n`,
    )
    await writeFile(join(own, '.dockerignore'), 'private\n')
    await writeFile(join(own, 'private'), canary)
    await writeFile(join(own, 'public'), '')
    const changes = {
      kind: 'dockerfile' as const,
      rootDirectory: 'own',
      dockerfilePath: 'Dockerfile',
      buildArguments: { WORD: 'hello' },
      startCommand: null,
    }
    await build('file', changes)
    expect(lines).toContain('public')
    expect(lines).not.toContain('private')
    const mounted = `RUN --mount=type=cache,target=/kept echo "with BuildKit ${seed}" && echo so >&2`
    await writeFile(join(own, 'Dockerfile'), `FROM ${partOf('busyboxImage')}\n${mounted}\n`)
    await build('kit', changes)
    expect(lines).toEqual(expect.arrayContaining([`with BuildKit ${seed}`, 'so']))
    await writeFile(join(own, 'Dockerfile'), `FROM ${partOf('busyboxImage')}\nRUN echo broken; exit 9\n`)
    await expect(build('broken', changes)).rejects.toMatchObject({
      code: 'command_failed',
      logTail: expect.arrayContaining(['broken']),
    })
  })

  test.each([
    [
      'allocates memory',
      JSON.stringify(['node', '-e', 'for (const all = []; ; ) all.push(Buffer.alloc(8_000_000, 1))']),
      'out_of_memory',
      'limit of 256 MB',
    ],
    ['starts processes', JSON.stringify(['node', '-e', forking]), 'too_many_processes', 'started more than 512 processes'],
  ])(
    'a Dockerfile of the classic builder whose command %s without end is stopped with an error, and no process remains',
    async (name, run, code, text) => {
      const folder = name.replaceAll(' ', '-')
      await mkdir(join(source, folder))
      await writeFile(join(source, folder, 'Dockerfile'), `FROM ${partOf('nodeImage')}\nRUN ${run}\n`)
      const changes = { kind: 'dockerfile', rootDirectory: folder, dockerfilePath: 'Dockerfile', startCommand: null } as const
      const going = build(folder, changes, classic)
      await expect(going).rejects.toMatchObject({ code, message: expect.stringContaining(text) })
      const container = lines.flatMap((line) => /Running in ([0-9a-f]+)/.exec(line)?.[1] ?? [])[0] as string
      await expect
        .poll(() =>
          engine
            .getContainer(container)
            .inspect()
            .catch(() => 'gone'),
        )
        .toBe('gone')
    },
  )

  test('services of one environment reach each other by name, and the network goes with the last of them', async () => {
    const network = (alias: string) => ({ network: { name: `prj_${seed}-production`, aliases: [alias] } })
    const one = await start(busybox(), {
      service: 'store',
      command: ['sh', '-c', 'while :; do echo hi | nc -l -p 7000; done'],
      ...network('store'),
    })
    const other = await start(busybox(), { service: 'web', command: ['sleep', '60'], ...network('web') })
    const requested = await runtime.exec(other.instanceId, { argv: ['sh', '-c', 'nc -w 2 store 7000 </dev/null'] }, neverAborted)
    expect(requested).toMatchObject({ exitCode: 0 })
    for (const { instanceId } of [one, other]) await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
    const left = await engine.listNetworks({ filters: { label: [`berth.network=prj_${seed}-production`] } })
    expect(left).toEqual([])
  })

  test('an instance that keeps exiting is reported as a crash loop', async () => {
    const reported = Promise.withResolvers<string>()
    const unlisten = runtime.onChange(({ kind, reason }) => kind === 'crash_loop' && reported.resolve(reason))
    await pause(500)
    const { instanceId } = await start(busybox(), { command: ['sh', '-c', 'echo lost the database; exit 6'], restart: true })
    expect(await reported.promise).toMatch(/exited with code 6[\s\S]*lost the database/)
    unlisten()
    await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  })

  test('a missing command is named, by the failed start or by exit code 127', async () => {
    const wanted = { entrypoint: ['no-such-program'], command: ['--serve'] }
    const started = await start(busybox(), wanted).catch((error: Error) => error)
    if (started instanceof Error) return expect(started.message).toMatch(/^The command `no-such-program` does not exist/)
    const { instanceId } = started
    await expect.poll(() => runtime.inspect(instanceId)).toMatchObject({ exitCode: 127, program: 'no-such-program' })
    await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  })

  test('a locally built image that was removed is not requested from a registry or mirror', async () => {
    const requested: string[] = []
    const registry = createServer((request, response) => {
      requested.push(request.url ?? '')
      response.writeHead(404).end()
    })
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
    const mirror = `127.0.0.1:${(registry.address() as AddressInfo).port}`
    const mirrored = createDockerRuntime({ socketPath: partOf('docker'), folder, imageMirror: mirror })
    const reference = `berth-${readIdentity(folder).instance}/${owner('x').projectId}:dep_gone`
    for (const one of [runtime, mirrored]) {
      const request = { ...startRequest({ ...busybox(), reference }), owner: owner('gone') }
      await expect(one.start(request, neverAborted)).rejects.toThrow(/was built here and no longer exists/)
      await expect(one.start(request, neverAborted)).rejects.toBeInstanceOf(ArtifactMissing)
    }
    expect(requested).toEqual([])
    await mirrored.close()
    await new Promise((resolve) => registry.close(resolve))
  })

  test.each<[string, string | null, string | null]>([
    ['an image without USER', null, null],
    ['USER 0', 'USER 0', null],
    [
      'a name that is root in its list of users',
      'RUN mkdir -p /etc && echo "app:x:0:0::/:/bin/sh" > /etc/passwd\nUSER app',
      null,
    ],
    ['a number', 'USER 1234', 'ok'],
    ['a name', 'RUN mkdir -p /etc && echo "app:x:1001:1001::/:/bin/sh" > /etc/passwd\nUSER app', 'ok'],
  ])('if root is forbidden, a container of %s is allowed or refused by its user', async (name, line, allowed) => {
    const strict = createDockerRuntime({ socketPath: partOf('docker'), folder, imageMirror: null, allowRoot: false })
    const own = join(source, `user-${name.replaceAll(' ', '-')}`)
    await mkdir(own)
    await writeFile(join(own, 'Dockerfile'), `FROM ${partOf('busyboxImage')}\n${line ?? ''}\nCMD ["sleep", "60"]\n`)
    const plan = {
      kind: 'dockerfile',
      rootDirectory: relative(source, own),
      dockerfilePath: 'Dockerfile',
      startCommand: null,
    } as const
    const made = await build(`u${name.length}`, plan)
    const request = startRequest(made)
    if (allowed) {
      expect((await strict.start(request, neverAborted)).runsAsRoot).toBeUndefined()
      await strict.stop(request.instanceId, { graceSeconds: 0 }, neverAborted)
    } else {
      await expect(strict.start(request, neverAborted)).rejects.toThrow(/would run as root.*BERTH_ALLOW_ROOT/)
      await expect(engine.getContainer(`berth-${request.instanceId}`).inspect()).rejects.toThrow()
      const running = await runtime.start(request, neverAborted)
      expect(running.runsAsRoot).toBe(name.startsWith('a name') ? undefined : true)
      await runtime.stop(request.instanceId, { graceSeconds: 0 }, neverAborted)
    }
    await strict.close()
  })

  test('a missing image is a start error with the remedy', async () => {
    const missing = start({ ...busybox(), reference: 'berth-test/nowhere:1' }, {})
    await expect(missing).rejects.toThrow(/berth-test\/nowhere:1 does not exist locally.*BERTH_IMAGE_MIRROR/)
  })

  test('two builds of one deployment are both listed, and the first can be removed', async () => {
    const ofTwice = async () =>
      (await runtime.listArtifacts()).filter(({ deploymentId }) => deploymentId === owner('twice').deploymentId)
    await build('twice', {})
    await writeFile(join(source, 'changed'), 'since then')
    const second = await build('twice', {})
    const first = (await ofTwice()).find(({ reference }) => reference !== second.reference)
    expect(await ofTwice()).toHaveLength(2)
    await runtime.removeArtifact(first as Artifact, neverAborted)
    expect((await ofTwice()).map(({ reference }) => reference)).toEqual([second.reference])
    await runtime.removeArtifact(second, neverAborted)
    expect(await ofTwice()).toEqual([])
  })

  test('uninstalling removes untagged images too', async () => {
    const leaving = new Labels(`leaving${seed}`)
    for (const word of ['one', 'two']) {
      const container = await engine.createContainer({ Image: partOf('busyboxImage'), Cmd: [word], Labels: leaving.of('build') })
      await container.commit({ repo: `berth-leaving${seed}/image`, tag: 'twice' })
      await container.remove()
    }
    const filters = { label: [`berth.instance=${leaving.instance}`] }
    expect(await engine.listImages({ filters })).toHaveLength(2)
    await removeEverythingOf(leaving.instance, partOf('docker'))
    expect(await engine.listImages({ filters })).toEqual([])
  })

  test('helper containers of a killed control plane are removed by the next start; its own are kept', async () => {
    const { instance } = readIdentity(folder)
    const [gone, now] = [new Labels(instance), new Labels(instance)]
    const made = await Promise.all(
      [gone.of('build'), gone.of('helper'), now.of('build')].map((labels) =>
        engine.createContainer({ Image: partOf('busyboxImage'), Cmd: ['never'], Labels: labels }),
      ),
    )
    await removeLeftovers({ engine, labels: now, networks: new Networks(engine, now) })
    const left = await Promise.all(made.map((container) => container.inspect().then(Boolean, () => false)))
    expect(left).toEqual([false, false, true])
    await made[2]?.remove()
  })

  test('a command of a killed control plane inside a container is ended with its children; those of others are kept', async () => {
    const { instanceId } = await start(await build('left', {}), {})
    const { instance } = readIdentity(folder)
    const begin = async (labels: Labels) => {
      const up = Promise.withResolvers<void>()
      const command = { argv: ['sh', '-c', 'echo up; sleep 600 & wait'], onStdout: () => up.resolve() }
      const ended = execIn(containerName(instanceId), command, { engine, labels }, neverAborted)
      await Promise.race([up.promise, ended])
      return { ended }
    }
    const [gone, now] = [new Labels(instance), new Labels(instance)]
    const [left, own] = [await begin(gone), await begin(now)]
    await removeLeftovers({ engine, labels: now, networks: new Networks(engine, now) })
    expect((await left.ended).exitCode).toBeGreaterThan(0)
    const { Processes } = (await engine.getContainer(containerName(instanceId)).top()) as { Processes: string[][] }
    expect(Processes.filter((row) => row.at(-1) === 'sleep 600')).toHaveLength(1)
    await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
    await own.ended.catch(() => undefined)
  })

  test('containers of other programs and of another Berth are neither listed nor removed', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'berth-other-'))
    const other = createDockerRuntime({ socketPath: partOf('docker'), folder: elsewhere, imageMirror: null })
    const foreign = await engine.createContainer({ Image: partOf('busyboxImage'), name: `foreign-${seed}`, Cmd: ['sleep', '60'] })
    const volume = `foreign_${seed}`
    await engine.createVolume({ Name: volume })
    const { instanceId } = await start(busybox(), { command: ['sleep', '60'] })
    try {
      expect(await other.list()).toEqual([])
      expect(await other.listArtifacts()).toEqual([])
      await other.stop(instanceId, { graceSeconds: 0 }, neverAborted)
      expect((await runtime.inspect(instanceId))?.state).toBe('running')
      for (const one of [runtime, other]) {
        await one.removeVolume(volume)
        await one.removeArtifact(busybox(), neverAborted)
      }
      expect((await runtime.list()).map((one) => one.instanceId)).toEqual([instanceId])
      await expect(foreign.inspect()).resolves.toBeDefined()
      await expect(engine.getVolume(volume).inspect()).resolves.toBeDefined()
      await expect(engine.getImage(partOf('busyboxImage')).inspect()).resolves.toBeDefined()
    } finally {
      await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
      await foreign.remove({ force: true })
      await engine.getVolume(volume).remove()
      await other.close()
      await rm(elsewhere, { recursive: true, force: true })
    }
  })
})
