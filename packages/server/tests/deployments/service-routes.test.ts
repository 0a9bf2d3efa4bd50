// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ProjectRoute } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { UpstreamsTarget } from '../../src/edge-proxy/protocol/edge-table.ts'
import { makeProject } from '../kit/projects.ts'
import { type Scene, setScene } from './scene.ts'

const file = `
services:
  web: { build: ., ports: ['80:3000'] }
  admin_panel: { build: ., ports: ['8081:3001'] }
  debug: { build: ., ports: ['127.0.0.1:9229:9229'] }
  db: { image: 'postgres:16', ports: ['5432:5432'] }
`

let scene: Scene
let folder: string
beforeAll(async () => {
  scene = await setScene()
  folder = join(dirname(scene.source), 'shop')
  mkdirSync(folder)
  writeFileSync(join(folder, 'compose.yaml'), file)
  writeFileSync(join(folder, 'Dockerfile'), 'FROM scratch')
  const { runtime } = scene.instance.drivers
  // Services need a runtime with containers.
  Object.assign(runtime, { kind: 'docker' })
  const image = { kind: 'image' as const, reference: 'postgres:16', sizeBytes: 1, startCommand: null }
  runtime.artifacts.set(image.reference, { ...image, projectId: '', deploymentId: '' })
})
afterAll(() => scene?.end())

const hosts = () => scene.instance.drivers.edge.table.hosts
const deployed = async (id: string) => {
  const deployment = await scene.settled(await scene.deploy(id))
  expect(deployment).toMatchObject({ status: 'live', error: null })
  return deployment
}
const routesOf = async (id: string): Promise<ProjectRoute[]> => (await scene.request('GET /projects/:id', id)).body.data.routes
/** The edge's upstreams for that host, by the service and deployment that run there. */
const behind = (hostname: string) => {
  const target = hosts()[hostname]?.target as UpstreamsTarget | undefined
  const { running } = scene.instance.drivers.runtime
  return target?.upstreams.map(({ id }) => [running.get(id)?.instance.service, running.get(id)?.instance.owner.deploymentId])
}
const makeShop = async () => {
  const shop = await makeProject(scene.instance, scene.people.admin.token, { localPath: folder, type: 'services' })
  return { ...shop, host: `${shop.slug}.localhost` }
}

const namesOf = (host: string) => Object.keys(hosts()).filter((name) => name.endsWith(host))

test('a second service that publishes a port is served at <service>.<slug>.<base domain>; settings disable and enable it, and each new version takes over its route', async () => {
  const { id, host } = await makeShop()
  const first = await deployed(id)
  const admin = `admin-panel.${host}`
  expect(namesOf(host)).toEqual([host, admin])
  expect([behind(host), behind(admin)]).toEqual([[['web', first.id]], [['admin_panel', first.id]]])
  expect(await routesOf(id)).toMatchObject([
    { hostname: host, kind: 'free', primary: true, state: 'synced' },
    { hostname: admin, kind: 'free', primary: false, service: 'admin_panel', state: 'synced', tls: 'none' },
  ])
  const serviceRoutes = { admin_panel: false, db: true }
  const changed = await scene.request('PATCH /projects/:id', id, { body: { serviceRoutes } }, scene.people.admin.token)
  expect([changed.status, changed.body.data.config.serviceRoutes]).toEqual([200, serviceRoutes])
  // Disabled immediately, enabled with the next deployment.
  await expect.poll(() => namesOf(host)).toEqual([host])
  expect(await routesOf(id)).toHaveLength(1)
  const second = await deployed(id)
  expect(namesOf(host)).toEqual([host, `db.${host}`])
  expect([behind(host), behind(`db.${host}`)]).toEqual([[['web', second.id]], [['db', second.id]]])
  expect((await routesOf(id))[1]).toMatchObject({ service: 'db', state: 'synced' })
})

test('route rules apply there too, and a sleeping, disabled or deleted project is not served at any host name', async () => {
  const { id, host } = await makeShop()
  await deployed(id)
  const both = [host, `admin-panel.${host}`]
  const asAdmin = (path: `${string} /${string}`, input = {}) => scene.request(path, id, input, scene.people.admin.token)
  const kinds = () => both.map((name) => hosts()[name]?.target.kind)
  const rule = { kind: 'ban', config: { ips: ['203.0.113.7'] } }
  expect((await asAdmin('POST /projects/:id/route-rules', { body: rule })).status).toBe(201)
  await expect.poll(() => both.map((name) => hosts()[name]?.rules?.length)).toEqual([1, 1])
  const { db } = scene.instance.database
  await db.updateTable('liveEnvironments').set({ state: 'sleeping' }).where('projectId', '=', id).execute()
  expect((await asAdmin('PATCH /projects/:id', { body: { name: 'Another' } })).status).toBe(200)
  await expect.poll(kinds).toEqual(['sleeping', 'sleeping'])
  expect((await asAdmin('POST /projects/:id/disable')).status).toBe(200)
  await expect.poll(kinds).toEqual(['disabled', 'disabled'])
  expect((await asAdmin('DELETE /projects/:id')).status).toBe(200)
  await expect.poll(() => namesOf(host)).toEqual([])
})
