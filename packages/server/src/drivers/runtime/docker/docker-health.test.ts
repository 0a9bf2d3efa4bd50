import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Docker from 'dockerode'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeNeeding, partOf } from '../../../../../../tests/kit/machine.ts'
import { startWeakSocket, type WeakSocket } from '../../../../../../tests/kit/weak-socket.ts'
import { emptyPlan } from '../build-plan.ts'
import { healthProgramWith } from '../health-program.ts'
import type { Artifact, Runtime, StartRequest } from '../runtime.ts'
import { createDockerRuntime } from './docker-runtime.ts'
import { readIdentity } from './identity.ts'
import { removeEverythingOf } from './remove-everything.ts'
import { containerName } from './run/container-settings.ts'

const neverAborted = new AbortController().signal
const resources = { cpuCores: 1, memoryMb: 64, diskMb: 500 }

describeNeeding(['docker', 'busyboxImage'], 'health checks on Docker', () => {
  let folder: string
  let socket: WeakSocket
  let runtime: Runtime
  let artifact: Artifact
  const seed = randomBytes(4).toString('hex')
  const owner = { projectId: `prj_${seed}`, deploymentId: `dep_${seed}`, environment: 'production' }
  const start = (changes: Partial<StartRequest> = {}) =>
    runtime.start(
      {
        ...{ instanceId: `ins_${seed}${randomBytes(3).toString('hex')}`, owner, service: '', artifact, resources },
        ...{ command: ['sleep', '600'], entrypoint: null, env: {}, port: null, volumes: [], network: null, restart: false },
        ...changes,
      },
      neverAborted,
    )
  const run = (instanceId: string, ...argv: string[]) => runtime.exec(instanceId, { argv }, neverAborted)
  const statusOf = async (instanceId: string) => (await runtime.inspectCached(instanceId))?.health?.status

  const statusAtEngine = async (instanceId: string) =>
    (await new Docker({ socketPath: partOf('docker') }).getContainer(containerName(instanceId)).inspect()).State.Health?.Status

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-docker-health-'))
    socket = await startWeakSocket(partOf('docker'))
    runtime = createDockerRuntime({ socketPath: socket.path, folder: join(folder, 'data'), imageMirror: null })
    const source = join(folder, 'source')
    await mkdir(source)
    const check = 'HEALTHCHECK --interval=1s --timeout=5s --retries=1 CMD test -f /tmp/well || { echo not well; exit 1; }'
    await writeFile(join(source, 'Dockerfile'), `FROM ${partOf('busyboxImage')}\nLABEL seed=${seed}\n${check}\n`)
    const plan = { ...emptyPlan, kind: 'dockerfile' as const, dockerfilePath: 'Dockerfile' }
    const request = { owner, service: '', sourceFolder: source, plan, secrets: {}, resources, timeoutMs: 60_000 }
    artifact = await runtime.build(request, () => undefined, neverAborted)
  })
  afterAll(async () => {
    await runtime?.close()
    await socket?.[Symbol.asyncDispose]()
    await removeEverythingOf(readIdentity(join(folder, 'data')).instance, partOf('docker'))
    await rm(folder, { recursive: true, force: true })
  })

  test('the HEALTHCHECK of a Dockerfile is read with its program, and each change of its status is reported', async () => {
    const reported: string[] = []
    const unlisten = runtime.onChange(({ kind, reason }) => void (kind === 'health' && reported.push(reason)))
    const { instanceId, health } = await start()
    expect(health?.program).toMatchObject({
      argv: ['/bin/sh', '-c', 'test -f /tmp/well || { echo not well; exit 1; }'],
      ...{ timeoutSeconds: 5, intervalSeconds: 1, retries: 1, withinSeconds: 6 },
    })
    await expect.poll(() => statusOf(instanceId), { timeout: 20_000 }).toBe('unhealthy')
    expect((await runtime.inspect(instanceId))?.health?.output).toBe('not well')
    await run(instanceId, 'touch', '/tmp/well')
    await expect.poll(() => statusOf(instanceId), { timeout: 20_000 }).toBe('healthy')
    await expect.poll(() => reported).toContain('Its health check reports healthy')
    unlisten()
    await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  })

  test('a status change while the engine does not answer is reported afterwards', async () => {
    const { instanceId } = await start()
    await expect.poll(() => statusOf(instanceId)).toBe('unhealthy')
    const { promise: healthy, resolve } = Promise.withResolvers<void>()
    const unlisten = runtime.onChange(({ instance: { health } }) => void (health?.status === 'healthy' && resolve()))
    await run(instanceId, 'touch', '/tmp/well')
    await socket.cut('gone')
    await expect.poll(() => statusAtEngine(instanceId)).toBe('healthy')
    await socket.mend()
    await healthy
    unlisten()
    await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  })

  test('the healthcheck of a Compose service replaces or disables that of the image', async () => {
    const given = { intervalSeconds: 1, timeoutSeconds: 5, retries: 1, startPeriodSeconds: 0 }
    const own = await start({ healthProgram: healthProgramWith(['true'], (name) => given[name]) })
    expect(own.health?.program.argv).toEqual(['true'])
    await expect.poll(() => statusOf(own.instanceId), { timeout: 20_000 }).toBe('healthy')
    const off = await start({ healthProgram: null })
    expect(off.health).toBeUndefined()
    for (const { instanceId } of [own, off]) await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  })
})
