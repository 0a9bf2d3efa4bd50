import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Instance } from '../../src/drivers/runtime/runtime.ts'
import { type MemoryDrivers, memoryDrivers } from '../kit/memory-runtime.ts'
import { quickWatch } from '../kit/quick-watch.ts'
import { type Scene, setScene } from './scene.ts'

/** Health of an instance whose image has a HEALTHCHECK, as an engine reports it. */
const health: NonNullable<Instance['health']> = {
  program: { argv: ['check-me'], timeoutSeconds: 1, withinSeconds: 2 },
  status: 'starting',
  output: '',
}

let folder: string
let scene: Scene
let drivers: MemoryDrivers
let isWell = true
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-health-'))
  drivers = memoryDrivers(folder)
  const { runtime } = drivers
  const start = runtime.start.bind(runtime)
  runtime.start = async (request) => Object.assign(await start(request), { health })
  runtime.onExec = async ({ argv }) =>
    argv[0] === 'check-me' && isWell ? { exitCode: 0, stderrTail: '' } : { exitCode: 1, stderrTail: 'no database' }
  scene = await setScene({ drivers, watchIntervals: quickWatch })
  Object.assign(scene.instance, { drivers })
})
afterAll(async () => {
  await scene?.end()
  rmSync(folder, { recursive: true, force: true })
})

const instancesOf = (projectId: string) =>
  [...drivers.runtime.running.values()].filter(({ instance }) => instance.owner.projectId === projectId)
const project = async (id: string) => (await scene.request('GET /projects/:id', id)).body.data

test('a version whose declared health check fails does not replace the live one', async () => {
  const { id } = await scene.makeApp()
  await scene.request('PATCH /projects/:id', id, { body: { healthCheck: { timeoutSeconds: 1 } } }, scene.people.admin.token)
  isWell = true
  expect(await scene.settled(await scene.deploy(id))).toMatchObject({ status: 'live' })
  const [good] = instancesOf(id)
  isWell = false
  const failed = await scene.settled(await scene.deploy(id))
  isWell = true
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'unhealthy' } })
  for (const named of ['check-me', 'no database', 'HEALTHCHECK']) expect(failed.error?.message).toContain(named)
  await expect.poll(() => instancesOf(id).map(({ instance }) => instance.instanceId)).toEqual([good!.instance.instanceId])
})

test('a live project whose declared health check fails later is unhealthy with its output, and live again once it passes', async () => {
  const { id } = await scene.makeApp()
  expect(await scene.settled(await scene.deploy(id))).toMatchObject({ status: 'live' })
  const { instance } = instancesOf(id)[0]!
  instance.health = { ...health, status: 'unhealthy', output: 'queue is stuck' }
  await expect.poll(async () => (await project(id)).status).toBe('unhealthy')
  expect((await project(id)).statusReason).toContain('queue is stuck')
  instance.health = { ...health, status: 'healthy' }
  await expect.poll(async () => (await project(id)).status).toBe('live')
})
