// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { afterAll, beforeAll, expect, test } from 'vitest'
import { assignToMachine } from '../../src/modules/deployments/index.ts'
import { InMemoryRuntime } from '../kit/memory-runtime.ts'
import { callsOn, makeProject } from '../kit/projects.ts'
import { type Scene, setScene } from './scene.ts'

const serverId = 'srv_elsewhere'
const machineId = 'mch_here'
const volumes = [{ name: 'photos', mountPath: '/data' }]

let scene: Scene
beforeAll(async () => {
  scene = await setScene({ machineId, projectPorts: { servers: { has: async (_organization, id) => id === serverId } } })
  scene.instance.drivers.servers.set(serverId, new InMemoryRuntime(30_000))
})
afterAll(() => scene?.end())

const runtime = () => scene.instance.drivers.runtime
const db = () => scene.instance.database.db
const make = (body: object = {}) =>
  makeProject(scene.instance, scene.people.admin.token, { localPath: scene.source, volumes, ...body })
const on = ({ id }: { id: string }) => callsOn(scene.instance, scene.people.admin.token)({ id })
const deploy = async ({ id }: { id: string }) => scene.settled(await scene.deploy(id))
const volumeOf = ({ id }: { id: string }) =>
  db().selectFrom('volumes').selectAll().where('projectId', '=', id).executeTakeFirstOrThrow()
const instancesOf = ({ id }: { id: string }) =>
  db().selectFrom('instances').select(['machineId', 'serverId']).where('projectId', '=', id).execute()

test('instances and volumes record their machine, those on a server none', async () => {
  const [here, there] = [await make(), await make({ serverId })]
  expect([(await deploy(here)).status, (await deploy(there)).status]).toEqual(['live', 'live'])
  expect([await volumeOf(here), await instancesOf(here)]).toEqual([
    expect.objectContaining({ machineId, serverId: null, hasData: 1 }),
    [{ machineId, serverId: null }],
  ])
  expect([await volumeOf(there), await instancesOf(there)]).toEqual([
    expect.objectContaining({ machineId: null, serverId, hasData: 1 }),
    [{ machineId: null, serverId }],
  ])
  await assignToMachine(db(), 'mch_next')
  expect([(await volumeOf(here)).machineId, (await volumeOf(there)).machineId]).toEqual(['mch_next', null])
  expect([(await instancesOf(here))[0]?.machineId, (await instancesOf(there))[0]?.machineId]).toEqual(['mch_next', null])
  // A machine that has lost the projects, and does not know it yet, starts nothing on their volumes.
  expect(await deploy(here)).toMatchObject({ status: 'failed', error: { code: 'volume_elsewhere' } })
  await assignToMachine(db(), machineId)
  expect((await deploy(here)).status).toBe('live')
})

test('a deployment with a lost volume fails and names it, creates nothing, and the old version keeps serving', async () => {
  const app = await make()
  const first = await deploy(app)
  const { id } = await volumeOf(app)
  runtime().volumes.delete(id)
  const second = await deploy(app)
  expect(second).toMatchObject({ status: 'failed', error: { code: 'volume_missing' } })
  expect(second.error?.message).toContain(`volume photos (${id})`)
  expect(second.error?.message).toContain(`berth volumes remove ${id}`)
  expect(runtime().volumes.has(id)).toBe(false)
  expect((await scene.request('GET /deployments/:id', first.id)).body.data.status).toBe('live')
  await on(app)('POST', '/disable')
  await on(app)('POST', '/enable')
  expect(runtime().volumes.has(id)).toBe(false)

  // The operator accepts the loss: the volume is deleted although it is mounted, and the next one is a new volume.
  expect((await on(app)('DELETE', `/volumes/${id}`)).status).toBe(204)
  expect((await deploy(app)).status).toBe('live')
  const next = await volumeOf(app)
  expect([next.id === id, next.hasData, runtime().volumes.has(next.id)]).toEqual([false, 1, true])
})

test('a mounted volume with data is not deleted', async () => {
  const app = await make()
  await deploy(app)
  expect((await on(app)('DELETE', `/volumes/${(await volumeOf(app)).id}`)).status).toBe(409)
})

test('a volume whose creation was interrupted is created by the next start', async () => {
  const app = await make()
  const { createVolume } = runtime()
  runtime().createVolume = async () => {
    throw new Error('killed')
  }
  expect((await deploy(app)).status).toBe('failed')
  runtime().createVolume = createVolume
  expect((await volumeOf(app)).hasData).toBe(0)
  expect((await deploy(app)).status).toBe('live')
  expect((await volumeOf(app)).hasData).toBe(1)
})
