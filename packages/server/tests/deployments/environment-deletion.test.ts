// gate: also on PostgreSQL, since a deletion takes the rows of every module along
import type { DeletionItem } from '@berth/contract'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { callsOn } from '../kit/projects.ts'
import { held, type Scene, setScene } from './scene.ts'

let scene: Scene
let project: { id: string; slug: string }
let on: ReturnType<ReturnType<typeof callsOn>>
beforeAll(async () => {
  scene = await setScene()
})
beforeEach(async () => {
  project = await scene.makeApp()
  on = callsOn(scene.instance, scene.people.admin.token)(project)
  await on('POST', '/options', { volumes: [{ name: 'data', mountPath: '/data' }] })
  await on('POST', '/environments', { name: 'Staging' })
  await on('PATCH', '/env', { environment: 'staging', upserts: [{ key: 'A', value: 'x', isSecret: true }] })
})
afterEach(() => {
  scene.instance.drivers.runtime.whileBuilding = async () => {}
})
afterAll(() => scene?.end())

const goLive = async (environment: string) => {
  const deployment = await scene.settled(await scene.deploy(project.id, { environment }))
  expect(deployment).toMatchObject({ status: 'live', environment })
  return deployment
}
const remove = (query = {}, environment = 'staging') => on('DELETE', `/environments/${environment}`, undefined, { query })
const preview = async () => (await on('GET', '/environments/staging/deletion-preview')).body.data
const kinds = (items: DeletionItem[]) => items.map(({ kind }) => kind).sort()
const slugs = async () => (await on('GET', '/environments')).body.data.map(({ slug }: { slug: string }) => slug)
const runtime = () => scene.instance.drivers.runtime
const hosts = () => scene.instance.drivers.edge.table.hosts
const rowsLeft = async () => {
  const { db } = scene.instance.database
  const left = async (table: 'envVariables' | 'liveEnvironments' | 'instances' | 'volumes') =>
    (await db.selectFrom(table).selectAll().where('projectId', '=', project.id).execute()).filter(
      ({ environment }) => environment === 'staging',
    ).length
  return Promise.all((['envVariables', 'liveEnvironments', 'instances', 'volumes'] as const).map(left))
}

describe('DELETE /projects/:id/environments/:environment', () => {
  test('removes its instances, route, artifacts and variables, as previewed; production keeps serving', async () => {
    const production = await goLive('production')
    const staging = await goLive('staging')
    const { items, blockedBy, totalSizeBytes, environment } = await preview()
    expect([blockedBy, totalSizeBytes, environment]).toEqual([[], 1, 'staging'])
    expect(kinds(items)).toEqual(['environment', 'folder', 'instance', 'variable', 'volume'])
    const { status, body } = await remove()
    expect([status, body.data.projectId, body.data.environment]).toEqual([200, project.id, 'staging'])
    expect(body.data.removed).toEqual(items.filter(({ kept }: DeletionItem) => !kept))
    expect(kinds(body.data.kept)).toEqual(['volume'])
    expect(await rowsLeft()).toEqual([0, 0, 0, 1])
    expect(await slugs()).toEqual(['production'])
    expect(hosts()).not.toHaveProperty(`staging.${project.slug}.localhost`)
    expect(hosts()[`${project.slug}.localhost`]?.target).toMatchObject({ kind: 'upstreams', deploymentId: production.id })
    const owners = [...runtime().running.values()].map(({ request }) => request.owner)
    expect(owners.filter(({ projectId }) => projectId === project.id)).toMatchObject([{ environment: 'production' }])
    expect([...runtime().artifacts.keys()]).not.toContain(`memory/${staging.id}`)
    expect([...runtime().artifacts.keys()]).toContain(`memory/${production.id}`)
    expect((await scene.settled(staging.id)).status).toBe('superseded')
  })

  test('?deleteVolumes=true removes its volumes and no others', async () => {
    await goLive('production')
    await goLive('staging')
    const { db } = scene.instance.database
    const volumes = () => db.selectFrom('volumes').selectAll().where('projectId', '=', project.id).execute()
    const [mine] = (await volumes()).filter(({ environment }) => environment === 'staging')
    const { body } = await remove({ deleteVolumes: true })
    expect([kinds(body.data.kept), await rowsLeft()]).toEqual([[], [0, 0, 0, 0]])
    expect(runtime().volumes.has(mine!.id)).toBe(false)
    expect(await volumes()).toMatchObject([{ environment: 'production' }])
  })

  test('409 work_in_progress names the operation; other environments do not block it; ?force=true cancels first', async () => {
    const build = held()
    runtime().whileBuilding = build.whileBuilding
    const other = await scene.deploy(project.id)
    await build.begun
    const id = await scene.deploy(project.id, { environment: 'staging' })
    expect((await preview()).blockedBy).toMatchObject([{ kind: 'deployment', id }])
    const refused = await remove()
    expect([refused.status, refused.body.code]).toEqual([409, 'work_in_progress'])
    expect(refused.body.error).toContain(`deployment ${id}`)
    expect(refused.body.error).not.toContain(other)
    expect((await remove({ force: true })).status).toBe(200)
    expect((await scene.settled(id)).status).toBe('cancelled')
    build.release()
    expect((await scene.settled(other)).status).toBe('live')
  })

  test('409: production is deleted only with its project', async () => {
    for (const query of [{}, { force: true }]) {
      const { status, body } = await remove(query, 'production')
      expect([status, body.code]).toEqual([409, 'conflict'])
    }
    expect(await slugs()).toEqual(['production', 'staging'])
  })

  test('400: an unknown environment, one of another project, and a deleted one', async () => {
    expect((await remove({}, 'nowhere')).body).toMatchObject({ code: 'validation_failed', field: 'environment' })
    const other = await scene.makeApp()
    const [{ id }] = (await on('GET', '/environments')).body.data.slice(1)
    const there = callsOn(scene.instance, scene.people.admin.token)(other)
    expect((await there('DELETE', `/environments/${id}`)).status).toBe(400)
    expect((await remove({}, id)).status).toBe(200)
    expect((await remove()).status).toBe(400)
  })

  test('403: project:admin is required', async () => {
    const { status, body } = await callsOn(scene.instance, scene.people.member.token)(project)('DELETE', '/environments/staging')
    expect([status, body.permission]).toEqual([403, 'project:admin'])
  })

  test('400: invalid flags', async () => {
    for (const name of ['force', 'deleteVolumes'])
      expect(await remove({ [name]: 'perhaps' })).toMatchObject({ status: 400, body: { field: name } })
  })

  test('an unfinished deletion continues automatically; meanwhile the environment cannot be deployed or changed', async () => {
    await goLive('staging')
    const { stop } = runtime()
    runtime().stop = () => Promise.reject(new Error('the engine is unreachable'))
    expect(await remove()).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    runtime().stop = stop
    const [, staging] = (await on('GET', '/environments')).body.data
    expect(staging.deletingSince).toEqual(expect.any(String))
    expect((await on('PATCH', '/env', { environment: 'staging', deletes: ['A'] })).body.code).toBe('conflict')
    const build = { projectId: project.id, environment: 'staging' }
    expect(await scene.request('POST /deployments/build/access', '', { body: build })).toMatchObject({ status: 409 })
    expect((await remove()).body.code).toBe('conflict')
    const { db } = scene.instance.database
    await db.updateTable('jobs').set({ runAt: 0 }).where('kind', '=', 'projects.remove-environment').execute()
    await scene.instance.jobs.whenIdle()
    expect([await slugs(), await rowsLeft()]).toEqual([['production'], [0, 0, 0, 1]])
  })

  test('its name can be used again, with the kept volume', async () => {
    await goLive('staging')
    await remove()
    await on('POST', '/environments', { name: 'Staging' })
    await goLive('staging')
    expect((await preview()).items.filter(({ kind }: DeletionItem) => kind === 'volume')).toHaveLength(1)
  })
})
