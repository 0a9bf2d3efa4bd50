import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeNeeding, partOf } from '../../../../../../tests/kit/machine.ts'
import type { Runtime, StartRequest } from '../runtime.ts'
import { createDockerRuntime } from './docker-runtime.ts'
import { type Engine, openEngine } from './engine.ts'
import { readIdentity } from './identity.ts'
import { removeEverythingOf } from './remove-everything.ts'

const neverAborted = new AbortController().signal

/** Cases of the docker runtime only. `suite/disk-suite.ts` has those of every runtime. */
describeNeeding(['docker', 'busyboxImage'], 'The disk limit of a container', () => {
  const seed = randomBytes(6).toString('hex')
  const projectId = `prj_${seed}`
  const adopted = `adopted-${seed}`
  let folder: string
  let engine: Engine
  let runtime: Runtime
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-docker-disk-'))
    engine = openEngine(partOf('docker'))
    runtime = createDockerRuntime({ socketPath: partOf('docker'), folder, imageMirror: null, diskPollMs: 1_000 })
    await engine.createVolume({ Name: adopted })
  })
  afterAll(async () => {
    await runtime?.close()
    await removeEverythingOf(readIdentity(folder).instance, partOf('docker'))
    await engine.getVolume(adopted).remove()
    await rm(folder, { recursive: true, force: true })
  })

  const start = (name: string, script: string, more: Partial<StartRequest> = {}) =>
    runtime.start(
      {
        ...{ instanceId: `ins_${seed}${name}`, service: '', command: null, env: {}, port: null, volumes: [], network: null },
        owner: { projectId, deploymentId: `dep_${seed}`, environment: 'production' },
        artifact: { kind: 'image', reference: partOf('busyboxImage'), sizeBytes: 0, startCommand: null },
        entrypoint: ['sh', '-c', `${script}; while true; do sleep 1; done`],
        resources: { cpuCores: 1, memoryMb: 64, diskMb: 32 },
        restart: true,
        ...more,
      },
      neverAborted,
    )
  const write = (file: string) => `dd if=/dev/zero of=${file} bs=1048576 count=48`
  const state = (name: string) => runtime.inspect(`ins_${seed}${name}`)

  test('counts an open deleted file, and ignores files from before the project', async () => {
    const volume = { id: `vol_${seed}`, name: 'data', projectId }
    await runtime.createVolume({ ...volume, adopted: { volume: adopted } })
    const volumes = [{ id: volume.id, name: 'data', mountPath: '/data', readOnly: false }]
    await start('adopted', write('/data/big'), { volumes })
    await start('nameless', 'exec 3>/big; rm /big; dd if=/dev/zero bs=1048576 count=48 >&3')
    await expect.poll(() => state('nameless')).toMatchObject({ state: 'exited', diskFull: true })
    await start('named', write('/big'))
    await expect.poll(() => state('named')).toMatchObject({ state: 'exited', diskFull: true })
    expect(await state('adopted')).toMatchObject({ state: 'running' })
    await runtime.stop(`ins_${seed}adopted`, { graceSeconds: 0 }, neverAborted)
  })

  test('applies to an instance that crashes repeatedly and is never seen running', async () => {
    await start('loop', `[ -e /big ] || ${write('/big')}; exit 1`)
    await expect.poll(() => state('loop')).toMatchObject({ state: 'exited', diskFull: true })
  })

  test('applies to one start only', async () => {
    await start('full', write('/big'))
    await expect.poll(() => state('full')).toMatchObject({ state: 'exited', diskFull: true })
    await runtime.stop(`ins_${seed}full`, { graceSeconds: 0 }, neverAborted)
    expect(await state('full')).toBeUndefined()
    expect((await start('full', 'true')).diskFull).toBeUndefined()
  })
})
