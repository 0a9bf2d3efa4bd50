import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeNeeding, partOf } from '../../../../../../../tests/kit/machine.ts'
import { type BuildPlan, emptyPlan } from '../../build-plan.ts'
import type { Runtime } from '../../runtime.ts'
import { createDockerRuntime } from '../docker-runtime.ts'
import { type Engine, openEngine } from '../engine.ts'
import { readIdentity } from '../identity.ts'
import { removeEverythingOf } from '../remove-everything.ts'

const canary = `canary-${randomBytes(8).toString('hex')}`

describeNeeding(['docker', 'nodeImage', 'busyboxImage'], 'A Dockerfile on Docker', () => {
  let folder: string
  let source: string
  let engine: Engine
  let runtime: Runtime
  let lines: string[] = []
  const seed = randomBytes(6).toString('hex')
  const build = async (text: string, { abort, ...changes }: Partial<BuildPlan> & { abort?: AbortSignal } = {}) => {
    lines = []
    await writeFile(join(source, 'Dockerfile'), text)
    return runtime.build(
      {
        owner: { projectId: `prj_${seed}`, deploymentId: `dep_${seed}`, environment: 'production' },
        service: '',
        sourceFolder: source,
        plan: { ...emptyPlan, kind: 'dockerfile', dockerfilePath: 'Dockerfile', ...changes },
        secrets: { NPM_TOKEN: canary },
        resources: { cpuCores: 1, memoryMb: 256, diskMb: 2000 },
        timeoutMs: 120_000,
      },
      ({ message }) => lines.push(message),
      abort ?? new AbortController().signal,
    )
  }
  /** Programs of the build that still run, by a word that only they have. */
  const running = () =>
    readdirSync('/proc').filter((pid) => {
      try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(`node\0-e\0/*${seed}*/`)
      } catch {
        return false
      }
    })
  const program = (code: string) => JSON.stringify(['node', '-e', `/*${seed}*/${code}`])

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-buildkit-'))
    source = await mkdtemp(join(tmpdir(), 'berth-source-'))
    const socketPath = partOf('docker')
    engine = openEngine(socketPath)
    runtime = createDockerRuntime({ socketPath, folder, imageMirror: null })
  })
  afterAll(async () => {
    await runtime.close()
    await removeEverythingOf(readIdentity(folder).instance, partOf('docker'))
    for (const one of [folder, source]) await rm(one, { recursive: true, force: true })
  })

  test('with --platform=$BUILDPLATFORM and TARGETARCH is built for the platform of the engine', async () => {
    await build(
      `FROM --platform=$BUILDPLATFORM ${partOf('busyboxImage')}\nARG TARGETARCH\nARG TARGETOS\nRUN echo "for $TARGETOS-$TARGETARCH"\n`,
    )
    const { Arch } = await engine.version()
    expect(lines).toEqual(expect.arrayContaining(['Building with BuildKit', `for linux-${Arch}`]))
  })

  test('with # syntax=, a cache and a secret is built by BuildKit, and the secret is in no layer, configuration or history', async () => {
    const mounts = '--mount=type=cache,target=/kept --mount=type=secret,id=npm_token --mount=type=secret,id=other'
    let artifact = { reference: '' }
    // Neighbours clear the engine's cache, perhaps between the two steps: such a build is done once more.
    for (let attempt = 1; attempt <= 5 && !lines.includes(`kept ${seed}`); attempt += 1)
      artifact = await build(
        [
          '# syntax=docker/dockerfile:1',
          `FROM --platform=$BUILDPLATFORM ${partOf('busyboxImage')}`,
          `RUN ${mounts} echo "token of $(wc -c < /run/secrets/npm_token)"; ls /run/secrets; echo ${seed} > /kept/seed # ${attempt}`,
          `RUN --mount=type=cache,target=/kept echo "kept $(cat /kept/seed)" # ${attempt}`,
        ].join('\n'),
      )
    for (const line of [`token of ${canary.length}`, 'npm_token', `kept ${seed}`]) expect(lines, lines.join('\n')).toContain(line)
    expect(lines).not.toContain('other')
    expect(lines.join('\n')).toMatch(/The build secret other is not set/)
    const image = engine.getImage(artifact.reference)
    expect(JSON.stringify([await image.inspect(), await image.history(), lines])).not.toContain(canary)
    const chunks: Buffer[] = []
    for await (const chunk of await image.get()) chunks.push(chunk as Buffer)
    expect(Buffer.concat(chunks).includes(canary)).toBe(false)
  })

  test.each([
    ['allocates memory', 'for (const all = []; ; ) all.push(Buffer.alloc(8_000_000, 1))', 'out_of_memory', '256 MB'],
    [
      'starts processes',
      `setInterval(() => { for (let at = 0; at < 20; at++) require('child_process').spawn('sleep', ['600']).on('error', () => {}) }, 1)`,
      'too_many_processes',
      '512 processes',
    ],
  ])(
    'whose BuildKit step %s without end is stopped with an error, and no process remains',
    async (_, code, failure, errorText) => {
      const text = `FROM ${partOf('nodeImage')}\nRUN --mount=type=cache,target=/kept ${program(code)}\n`
      await expect(build(text)).rejects.toMatchObject({ code: failure, message: expect.stringContaining(errorText) })
      await expect.poll(running).toEqual([])
    },
  )

  test('that is cancelled in BuildKit ends at once with all its processes', async () => {
    const cancel = new AbortController()
    const code = `console.log('working'); setInterval(() => {}, 1000)`
    const going = build(`FROM ${partOf('nodeImage')}\nRUN --mount=type=cache,target=/kept ${program(code)}\n`, {
      abort: cancel.signal,
    })
    const ended = expect(going).rejects.toThrow('enough')
    await expect.poll(() => lines.includes('working')).toBe(true)
    expect(running().length).toBeGreaterThan(0)
    cancel.abort(new Error('enough'))
    await ended
    await expect.poll(running).toEqual([])
  })
})
