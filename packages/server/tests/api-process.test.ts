// gate: also on PostgreSQL, since API processes read from it without a cache
import { type AnyRoute, type Method, table } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serve } from '../../../tests/kit/http-server.ts'
import { WorkerProxy } from '../src/http/worker-proxy.ts'
import { isWorkerRow } from '../src/http/worker-rows.ts'
import type { MachineRow } from '../src/platform/machines/machine-store.ts'
import { type Scene, setScene } from './deployments/scene.ts'
import { call } from './kit/call.ts'
import { linkBy } from './kit/fake-cloud.ts'
import type { TestInstance } from './kit/instance.ts'
import { makePeople } from './kit/people.ts'
import { makeWorld, type World } from './kit/world.ts'

/** Mints a token. */
const isRandom = ({ at }: AnyRoute) => at.endsWith('/stream-token')

/** An API process whose worker is away, beside the instance that does the work. */
let scene: Scene
let world: World
let api: ReturnType<TestInstance['another']>
/** The project of the world is not deployed, this one is live. */
let live: { id: string; slug: string }

/** The record of the worker's machine, which `serve` keeps. */
const machine: MachineRow = {
  id: 'mch_test',
  hostname: 'here',
  dataDir: '/data',
  role: 'worker',
  location: 'x',
  sessionToken: null,
  runtime: 'process',
  isolationKind: 'bubblewrap',
  isolationMessage: 'each in a sandbox',
  startedAt: 1,
  seenAt: 1,
}

beforeAll(async () => {
  scene = await setScene({}, { BERTH_PUBLIC_URL: 'http://berth.example.test' })
  await scene.instance.database.db.insertInto('machines').values(machine).execute()
  world = await makeWorld(scene.instance, scene.people)
  live = await scene.makeApp()
  api = scene.instance.another({ worker: new WorkerProxy({ at: { url: 'http://127.0.0.1:9' }, key: 'none', restartMs: 200 }) })
  await api.app.ready()
})
afterAll(async () => {
  await api?.close()
  await scene?.end()
})

const reads = table.filter(
  ({ module, name, row }) => row.method === 'GET' && !row.stream && !row.public && !isWorkerRow(module, name) && !isRandom(row),
)
const owner = () => scene.people.owner.token
const fromApi = (at: string, id: string, query = {}) =>
  call(api as never, owner(), at as `${Method} /`, { params: { id, projectId: id }, query })
const fromWorker = (at: string, id: string) =>
  call(scene.instance, owner(), at as `${Method} /`, { params: { id, projectId: id } })

test.each(reads.map(({ row }) => ({ at: row.at, row: row as AnyRoute })))(
  'without the worker, the answer is the same: $at',
  async ({ at, row }) => {
    const input = world.inputFor(row)
    const ask = (target: typeof api) => call(target as never, owner(), at as `${Method} /`, input)
    const expected = await ask(scene.instance)
    const { status, body } = await ask(api)
    expect({ status, body }).toEqual({ status: expected.status, body: expected.body })
    expect(status, JSON.stringify(body)).toBeLessThan(500)
  },
)

test('the routes of a live deployment are shown at once, and no longer after it is disabled', async () => {
  const routeOf = async () => (await fromApi('GET /projects/:id', live.id)).body.data.routes[0]
  expect((await routeOf()).state).toBe('pending')
  await scene.settled(await scene.deploy(live.id))
  for (const at of ['GET /projects/:id', 'GET /projects', 'GET /projects/:id/info', 'GET /projects/:id/domains'])
    expect((await fromApi(at, live.id)).body).toEqual((await fromWorker(at, live.id)).body)
  expect((await routeOf()).state).toBe('synced')
  const off = await scene.request('POST /projects/:id/disable', live.id, {}, owner())
  expect(off.status).toBe(200)
  expect((await fromApi('GET /projects/:id', live.id)).body).toEqual((await fromWorker('GET /projects/:id', live.id)).body)
})

test('a restarted worker records its state again, and a running API process reads the new state', async () => {
  const next = scene.instance.another()
  scene.instance.drivers.edge.refused = { [`${live.slug}.localhost`]: 'refused by a test' }
  try {
    await next.running?.syncEdge()
    const { body } = await fromApi('GET /projects/:id', live.id)
    expect(body.data.routes[0]).toMatchObject({ state: 'error', reason: 'refused by a test' })
  } finally {
    scene.instance.drivers.edge.refused = {}
    await next.running?.syncEdge()
    await next.close()
  }
})

test('503: requests that need the worker, and reads of a project while an organisation is linked to a cloud', async () => {
  const away = { status: 503, body: { code: 'unavailable' } }
  expect(await fromApi('GET /projects/:id/git', live.id)).toMatchObject(away)
  const others = await makePeople(scene.instance)
  await linkBy(scene.instance, others, 'http://127.0.0.1:9')
  expect(await fromApi('GET /projects/:id', live.id)).toMatchObject(away)
  expect((await fromApi('GET /projects', live.id)).status).toBe(200)
  await scene.instance.database.db.deleteFrom('cloudLinks').execute()
  expect((await fromApi('GET /projects/:id', live.id)).status).toBe(200)
})

test('variables are changed without the worker, and the change is recorded', async () => {
  const { status, body } = await call(api as never, owner(), 'PATCH /projects/:id/env', {
    params: { id: live.id },
    body: { upserts: [{ key: 'MODE', value: 'fast' }] },
  })
  expect({ status, body }).toMatchObject({ status: 200, body: { data: [{ key: 'MODE', value: 'fast' }] } })
  expect((await fromWorker('GET /projects/:id/env', live.id)).body).toEqual(body)
  const { body: log } = await fromWorker('GET /audit-log', live.id)
  expect(log.data[0]).toMatchObject({ action: 'PATCH /projects/:id/env', objectId: live.id })
})

test('/api/health shows the isolation that the worker has recorded', async () => {
  const { body } = await call(api as never, owner(), 'GET /health')
  expect(body.data).toMatchObject({ worker: 'away', isolation: { kind: 'bubblewrap', message: 'each in a sandbox' } })
})

test('if the worker exits before it answers, a read is sent again and a write is 503', async () => {
  const received: string[] = []
  const worker = await serve((request, response) => {
    received.push(request.method as string)
    if (received.length % 2 === 1) request.socket.destroy()
    else response.setHeader('content-type', 'application/json').end('{"data":"second"}')
  })
  const beside = scene.instance.another({ worker: new WorkerProxy({ at: { url: worker.url }, key: 'none' }) })
  try {
    const read = await call(beside as never, owner(), 'GET /projects/:id/git', { params: { id: live.id } })
    expect({ ...read, received }).toMatchObject({ status: 200, body: { data: 'second' }, received: ['GET', 'GET'] })
    const write = await call(beside as never, owner(), 'POST /projects/:id/disable', { params: { id: live.id }, body: {} })
    expect({ ...write, received }).toMatchObject({ status: 503, received: ['GET', 'GET', 'POST'] })
  } finally {
    await beside.close()
    await worker.close()
  }
})
