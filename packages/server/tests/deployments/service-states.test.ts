// gate: also on PostgreSQL, since ends of several services take a lock
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Project, ServiceStatus } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { announceKind } from '../../src/platform/jobs/announce.ts'
import { type MemoryDrivers, memoryDrivers } from '../kit/memory-runtime.ts'
import { quickWatch } from '../kit/quick-watch.ts'
import { type Scene, setScene } from './scene.ts'

let folder: string
let scene: Scene
let drivers: MemoryDrivers
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-states-'))
  drivers = memoryDrivers(folder)
  // Several services need an engine.
  Object.assign(drivers.runtime, { kind: 'docker' })
  scene = await setScene({ drivers, watchIntervals: quickWatch })
  Object.assign(scene.instance, { drivers })
})
afterAll(async () => {
  await scene?.end()
  rmSync(folder, { recursive: true, force: true })
})

const compose = `services:
  web: { build: ., ports: ["80:80"], restart: always }
  worker: { build: ., restart: unless-stopped }
  mailer: { build: . }
  retried: { build: ., restart: "on-failure:2" }
`
let count = 0
const liveServices = async (file = compose) => {
  const deployed = await scene.deployFiles(`stack${count++}`, { 'compose.yaml': file, Dockerfile: 'FROM scratch' })
  expect(deployed).toMatchObject({ status: 'live', error: null })
  return deployed.projectId
}
const project = async (id: string): Promise<Project> => (await scene.request('GET /projects/:id', id)).body.data
const service = async (id: string, name: string): Promise<ServiceStatus> =>
  (await project(id)).services?.find((one) => one.name === name) as ServiceStatus
const instanceOf = (projectId: string, name: string) =>
  [...drivers.runtime.running.values()].find(
    ({ instance: { owner, service } }) => owner.projectId === projectId && service === name,
  )!.instance
const reported = async (projectId: string) => {
  const rows = await scene.instance.database.db
    .selectFrom('jobs')
    .select('payload')
    .where('kind', '=', announceKind.kind)
    .execute()
  return rows
    .map(({ payload }) => JSON.parse(payload) as { projectId: string; category: string; text: string })
    .filter((event) => event.projectId === projectId && event.category.startsWith('project.'))
}
const linesOfWorker = async (projectId: string): Promise<string[]> => {
  const { body } = await scene.request('GET /projects/:id/logs', projectId, { query: { service: 'worker' } })
  return body.data.map(({ message }: { message: string }) => message)
}

// Run concurrently, since they mostly wait for the next check of their project.
describe.concurrent('the record of a project of several services', () => {
  test('a restarted service is shown with its exit in the record, the log and the metrics; three exits cause a notification', async ({
    expect,
  }) => {
    const id = await liveServices()
    expect((await project(id)).services).toEqual(
      ['web', 'worker', 'mailer', 'retried'].map((name) => ({ name, status: 'running', restarts: 0, lastExit: null })),
    )
    const { instanceId } = instanceOf(id, 'worker')
    drivers.runtime.crash(instanceId, 137, 'out_of_memory').comeBack()
    const lastExit = { code: 137, reason: 'out_of_memory', at: expect.any(String) }
    await expect.poll(() => service(id, 'worker')).toMatchObject({ restarts: 1, lastExit })
    expect(await project(id)).toMatchObject({
      status: 'live',
      statusReason: 'worker exited with code 137 (out of memory), restarted (1 time)',
    })
    expect(await reported(id)).toEqual([])
    for (const code of [1, 1]) drivers.runtime.crash(instanceId, code).comeBack()
    await expect.poll(async () => (await project(id)).status).toBe('unhealthy')
    expect(await service(id, 'worker')).toMatchObject({
      status: 'restarting',
      restarts: 3,
      lastExit: { code: 1, reason: 'exit' },
    })
    expect(await service(id, 'web')).toMatchObject({ status: 'running', restarts: 0, lastExit: null })
    const reason = 'worker exited with code 1, restarted (3 times)'
    expect((await project(id)).statusReason).toContain(reason)
    expect(await reported(id)).toMatchObject([{ category: 'project.unhealthy', text: expect.stringContaining(reason) }])
    await expect
      .poll(() => linesOfWorker(id))
      .toEqual(
        expect.arrayContaining([
          'worker exited with code 137 (out of memory), restarted (1 time)',
          'worker exited with code 1, restarted (2 times)',
          reason,
        ]),
      )
    const { points } = (await scene.request('GET /projects/:id/metrics', id)).body.data
    expect(points.reduce((sum: number, { restarts }: { restarts: number }) => sum + restarts, 0)).toBe(3)
    const { runtime } = (await scene.request('GET /projects/:id/info', id)).body.data
    expect(runtime).toMatchObject({ restarts: 3, lastExit: { code: 1, reason: 'exit' } })
  })

  test('a restart policy applies once its service is healthy; a service that failed permanently is dead beside a healthy web; one that exited successfully has completed', async ({
    expect,
  }) => {
    const id = await liveServices()
    const policies = ['web', 'worker', 'mailer', 'retried'].map((name) =>
      drivers.runtime.restartPolicies.get(instanceOf(id, name).instanceId),
    )
    expect(policies).toEqual([{ name: 'always' }, { name: 'always' }, { name: 'no' }, { name: 'on-failure', maxRetries: 2 }])
    for (const { request } of drivers.runtime.running.values()) expect(request.restart).toBe(false)
    drivers.runtime.exit(instanceOf(id, 'mailer').instanceId, 0)
    await expect.poll(() => service(id, 'mailer')).toMatchObject({ status: 'completed', restarts: 0, lastExit: { code: 0 } })
    expect(await project(id)).toMatchObject({ status: 'live', statusReason: null })
    drivers.runtime.exit(instanceOf(id, 'retried').instanceId, 3)
    await expect.poll(() => service(id, 'retried')).toMatchObject({ status: 'exited', lastExit: { code: 3, reason: 'exit' } })
    expect((await project(id)).statusReason).toContain('retried exited with code 3')
    await expect.poll(async () => (await project(id)).status).toBe('unhealthy')
    expect((await reported(id)).map(({ category }) => category)).toEqual(['project.unhealthy'])
    // It stays exited: nothing restarts it.
    expect(instanceOf(id, 'retried').state).toBe('exited')
  })

  test('a new version starts without recorded exits, and the services of a sleeping or disabled project are shown as such', async ({
    expect,
  }) => {
    const id = await liveServices()
    drivers.runtime.crash(instanceOf(id, 'worker').instanceId, 2).comeBack()
    await expect.poll(() => service(id, 'worker')).toMatchObject({ restarts: 1 })
    expect(await scene.settled(await scene.deploy(id))).toMatchObject({ status: 'live' })
    expect(await service(id, 'worker')).toEqual({ name: 'worker', status: 'running', restarts: 0, lastExit: null })
    await scene.request('POST /projects/:id/disable', id, {}, scene.people.admin.token)
    await expect.poll(() => service(id, 'web')).toMatchObject({ status: 'stopped' })
  })

  test('an exit without an event is recorded once, when it is found', async ({ expect }) => {
    const id = await liveServices()
    const kept = [...drivers.runtime.running.values()].find(
      ({ instance }) => instance.owner.projectId === id && instance.service === 'worker',
    )!
    // As after a kill -9 of the control plane: it exited and was restarted without a listener.
    const at = new Date(Date.now() - 60_000).toISOString()
    kept.instance = { ...kept.instance, restarts: 2, lastEnd: { at, exitCode: null, reason: 'unknown' } }
    await expect
      .poll(() => service(id, 'worker'))
      .toMatchObject({ status: 'running', restarts: 2, lastExit: { code: null, reason: 'unknown', at } })
    await expect.poll(() => linesOfWorker(id)).toContain('worker ended while Berth was not running, restarted (2 times)')
  })
})

test.concurrent('a project of one service has no list of services, but a reason and a last exit', async ({ expect }) => {
  const { id } = await scene.makeApp()
  expect(await scene.settled(await scene.deploy(id))).toMatchObject({ status: 'live' })
  drivers.runtime.crash(instanceOf(id, '').instanceId, 137, 'out_of_memory')
  const statusReason = 'The app exited with code 137 (out of memory), restarted (1 time)'
  await expect.poll(() => project(id)).toMatchObject({ status: 'live', statusReason })
  expect((await project(id)).services).toBeUndefined()
  const { runtime } = (await scene.request('GET /projects/:id/info', id)).body.data
  expect(runtime).toMatchObject({ restarts: 1, lastExit: { code: 137, reason: 'out_of_memory' } })
})

test('the image of a Compose project is that of the exposed service', async () => {
  const { build } = drivers.runtime
  drivers.runtime.build = async (request, onLine, abort) => {
    const artifact = await build.call(drivers.runtime, request, onLine, abort)
    const image = { ...artifact, kind: 'image' as const }
    drivers.runtime.artifacts.set(image.reference, { ...image, ...request.owner })
    return image
  }
  const file = 'services:\n  aside: { build: . }\n  web: { build: ., ports: ["80:80"] }\n'
  const deployed = await scene.deployFiles('images', { 'compose.yaml': file, Dockerfile: 'FROM scratch' })
  drivers.runtime.build = build
  expect(deployed).toMatchObject({ status: 'live', image: `memory/${deployed.id}web` })
  const { build: shown } = (await scene.request('GET /projects/:id/info', deployed.projectId)).body.data
  expect(shown.image).toBe(deployed.image)
})
