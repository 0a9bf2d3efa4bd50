// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { InMemoryRuntime } from '../kit/memory-runtime.ts'
import { callsOn, makeProject } from '../kit/projects.ts'
import { type Scene, setScene } from './scene.ts'

const serverId = 'srv_elsewhere'

let scene: Scene
const here = () => scene.instance.drivers.runtime
const there = () => scene.instance.drivers.servers.get(serverId) as InMemoryRuntime
beforeAll(async () => {
  scene = await setScene({ projectPorts: { servers: { has: async (_organization, id) => id === serverId } } })
  scene.instance.drivers.servers.set(serverId, new InMemoryRuntime(30_000))
})
afterAll(() => scene?.end())

const ofProject = (runtime: InMemoryRuntime, projectId: string) =>
  [...runtime.running.values()].filter(({ instance }) => instance.owner.projectId === projectId)
const make = (body: object = {}) => makeProject(scene.instance, scene.people.admin.token, { localPath: scene.source, ...body })
const on = ({ id }: { id: string }) => callsOn(scene.instance, scene.people.admin.token)({ id })
const volumes = [{ name: 'data', mountPath: '/data' }]

describe('the location of a project', () => {
  test('a project on a server is built, run, stopped, started and deleted there, and nothing is on this machine', async () => {
    const app = await make({ serverId, volumes })
    const first = await scene.settled(await scene.deploy(app.id))
    expect(first).toMatchObject({ status: 'live' })
    expect(ofProject(there(), app.id)).toHaveLength(1)
    expect([...there().artifacts.values()].filter(({ projectId }) => projectId === app.id)).toHaveLength(1)
    await on(app)('POST', '/disable')
    expect(ofProject(there(), app.id)).toHaveLength(0)
    await on(app)('POST', '/enable')
    expect(ofProject(there(), app.id)).toHaveLength(1)
    const preview = (await on(app)('GET', '/deletion-preview')).body.data.items
    expect(preview.map(({ kind }: { kind: string }) => kind)).toEqual(expect.arrayContaining(['instance', 'folder', 'volume']))
    expect(here().running.size + here().artifacts.size + here().volumes.size).toBe(0)
    expect((await on(app)('DELETE', '', undefined, { query: { deleteVolumes: true } })).status).toBe(200)
    expect(there().running.size + there().artifacts.size + there().volumes.size).toBe(0)
  })

  test('a project with a new location: the next version runs there, and the old one is stopped at the old location', async () => {
    const app = await make()
    expect((await scene.settled(await scene.deploy(app.id))).status).toBe('live')
    expect([ofProject(here(), app.id).length, ofProject(there(), app.id).length]).toEqual([1, 0])
    await on(app)('PATCH', '', { serverId })
    expect((await scene.settled(await scene.deploy(app.id))).status).toBe('live')
    await expect.poll(() => [ofProject(here(), app.id).length, ofProject(there(), app.id).length]).toEqual([0, 1])
  })

  test('a rollback runs where that version was built', async () => {
    const app = await make()
    const first = await scene.settled(await scene.deploy(app.id))
    await on(app)('PATCH', '', { serverId })
    expect((await scene.settled(await scene.deploy(app.id))).status).toBe('live')
    const { deploymentId } = (await scene.request('POST /deployments/:id/rollback', first.id)).body.data
    expect((await scene.settled(deploymentId)).status).toBe('live')
    await expect.poll(() => [ofProject(here(), app.id).length, ofProject(there(), app.id).length]).toEqual([1, 0])
  })

  test('a volume is not moved: the deployment fails and says where the data is, and the old version keeps serving', async () => {
    const app = await make({ volumes })
    const first = await scene.settled(await scene.deploy(app.id))
    expect(first.status).toBe('live')
    await on(app)('PATCH', '', { serverId })
    const second = await scene.settled(await scene.deploy(app.id))
    expect(second).toMatchObject({ status: 'failed', error: { code: 'volume_elsewhere' } })
    expect(second.error?.message).toContain('volume data is on this machine')
    expect((await scene.request('GET /deployments/:id', first.id)).body.data.status).toBe('live')
    await expect.poll(() => [ofProject(here(), app.id).length, ofProject(there(), app.id).length]).toEqual([1, 0])
  })
})
