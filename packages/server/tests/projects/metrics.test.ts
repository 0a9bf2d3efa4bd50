// gate: also on PostgreSQL, since the database adds up numbers
import type { MetricPoint } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { TrafficMinute } from '../../src/edge-proxy/protocol/traffic.ts'
import { saveTraffic, saveUsage } from '../../src/modules/projects/index.ts'
import { thinMetrics } from '../../src/modules/projects/metrics/thin-metrics.ts'
import { bucketOf } from '../../src/platform/latency-histogram.ts'
import { type Scene, setScene } from '../deployments/scene.ts'
import { InMemoryEdge } from '../kit/memory-runtime.ts'
import { makePeople } from '../kit/people.ts'
import { callsOn } from '../kit/projects.ts'

const minute = 60_000
const day = 24 * 60 * minute
/** The start of the minute that was the given number of minutes ago. */
const ago = (minutes: number) => (Math.floor(Date.now() / minute) - minutes) * minute
const iso = (at: number) => new Date(at).toISOString()

let scene: Scene
let project: { id: string }
let on: ReturnType<ReturnType<typeof callsOn>>
beforeAll(async () => {
  scene = await setScene()
})
afterAll(() => scene?.end())
beforeEach(async () => {
  project = await scene.makeApp()
  on = callsOn(scene.instance, scene.people.viewer.token)(project)
})

const request = (query: Record<string, string | number> = {}) => on('GET', '/metrics', undefined, { query })
const points = async (query: Record<string, string | number> = {}): Promise<MetricPoint[]> => {
  const { status, body } = await request(query)
  expect(status).toBe(200)
  return body.data.points
}
const requested = (at: number, more: Partial<TrafficMinute> = {}): TrafficMinute => ({
  ...{ counter: 'edge.1', projectId: project.id, environment: 'production', at },
  ...{ requests: 10, errors4xx: 2, errors5xx: 1, bytesOut: 5000, latency: [bucketOf(20), 9, bucketOf(900), 1] },
  ...more,
})
const used = (at: number, more = {}) => ({
  ...{ counter: 'use.1', projectId: project.id, environment: 'production', at },
  ...{ cpuMs: 15_000, observedMs: 60_000, memoryKb: 64 * 1024 },
  ...more,
})
const keep = (...minutes: TrafficMinute[]) => saveTraffic(minutes, scene.instance.database)
const use = (...minutes: ReturnType<typeof used>[]) => saveUsage(minutes, scene.instance.database)
const nothing = {
  cpuCores: null,
  memoryMb: null,
  requests: 0,
  errors4xx: 0,
  errors5xx: 0,
  p50Ms: null,
  p99Ms: null,
  bytesOut: 0,
  restarts: 0,
}
const thin = (now: number) => thinMetrics({ database: scene.instance.database, clock: { now: () => new Date(now) } })
const rowCount = async () =>
  (
    await scene.instance.database.db
      .selectFrom('metrics')
      .innerJoin('environments', 'environments.id', 'metrics.environmentId')
      .select(['spanSeconds'])
      .where('environments.projectId', '=', project.id)
      .execute()
  ).length

describe('GET /projects/:id/metrics', () => {
  test('the last hour by minute; a minute without values has an empty point', async () => {
    const { body } = await request()
    expect(body.data.stepSeconds).toBe(60)
    expect([60, 61]).toContain(body.data.points.length)
    expect(body.data.points[0]).toEqual({ at: expect.stringMatching(/:00\.000Z$/), ...nothing })
  })

  test('requests, errors, bytes, latency, CPU and memory of a minute', async () => {
    await keep(requested(ago(5)))
    await use(used(ago(5)))
    const point = (await points()).find(({ at }) => at === iso(ago(5)))!
    expect(point).toMatchObject({ requests: 10, errors4xx: 2, errors5xx: 1, bytesOut: 5000, cpuCores: 0.25, memoryMb: 64 })
    expect(point.p50Ms! / 20).toBeCloseTo(1, 0)
    expect(point.p99Ms! / 900).toBeCloseTo(1, 0)
  })

  test('a report of the edge is stored, counted once if repeated, and updated when it has grown', async () => {
    const { edge } = scene.instance.drivers
    edge.reportTraffic(requested(ago(3)))
    edge.reportTraffic(
      requested(ago(3)),
      requested(ago(3), { requests: 25 }),
      requested(ago(2), { counter: 'edge.2', requests: 7 }),
    )
    const requests = async () => (await points()).filter((one) => one.requests > 0).map((one) => one.requests)
    await expect.poll(requests).toEqual([25, 7])
  })

  test('a report that an edge sends as soon as it is found is stored', async () => {
    const edge = new InMemoryEdge()
    edge.start = async () => {
      edge.reportTraffic(requested(ago(3), { requests: 11 }))
      return edge.listening
    }
    const { running } = scene.instance.another({ drivers: { ...scene.instance.drivers, edge } })
    const stopping = new AbortController()
    await running?.start(stopping.signal)
    const requests = async () => (await points()).filter((one) => one.requests > 0).map((one) => one.requests)
    await expect.poll(requests).toEqual([11])
    stopping.abort()
    await running?.stop({ keepRunning: true })
  })

  test('counters of one minute are added up; memory is the maximum', async () => {
    await keep(requested(ago(4)), requested(ago(4), { counter: 'edge.2', requests: 5 }))
    await use(used(ago(4)), used(ago(4), { counter: 'use.2', cpuMs: 45_000, memoryKb: 128 * 1024 }))
    expect(await points({ from: iso(ago(4)), to: iso(ago(3)) })).toEqual([
      expect.objectContaining({ requests: 15, errors4xx: 4, cpuCores: 0.5, memoryMb: 128 }),
    ])
  })

  test('from, to and stepSeconds select the points: a longer step combines several minutes', async () => {
    const hour = Math.floor(ago(90) / (60 * minute)) * 60 * minute
    await keep(...[0, 1, 9, 10, 20].map((at) => requested(hour + at * minute)))
    const asTenMinutes = await points({ from: iso(hour), to: iso(hour + 30 * minute), stepSeconds: 600 })
    expect(asTenMinutes.map(({ at, requests }) => [at, requests])).toEqual([
      [iso(hour), 30],
      [iso(hour + 10 * minute), 10],
      [iso(hour + 20 * minute), 10],
    ])
  })

  test('a step is rounded to whole minutes, and the response has the used step', async () => {
    expect((await request({ stepSeconds: 90 })).body.data.stepSeconds).toBe(120)
    const threeDays = await request({ from: iso(ago(3 * 24 * 60)), stepSeconds: 300 })
    expect(threeDays.body.data.stepSeconds).toBe(1800)
  })

  test('each environment has its own metrics', async () => {
    const owner = callsOn(scene.instance, scene.people.owner.token)(project)
    expect((await owner('POST', '/environments', { name: 'Preview' })).status).toBe(201)
    await keep(requested(ago(5), { environment: 'preview', requests: 3 }))
    const sum = (found: MetricPoint[]) => found.reduce((total, { requests }) => total + requests, 0)
    expect([sum(await points()), sum(await points({ environment: 'preview' }))]).toEqual([0, 3])
    expect((await owner('DELETE', '/environments/preview')).status).toBe(200)
    expect(await rowCount()).toBe(0)
    await keep(requested(ago(5), { environment: 'preview' }))
    expect(await rowCount()).toBe(0)
  })

  test.each<[string, Record<string, string | number>]>([
    ['from', { from: 'yesterday' }],
    ['to', { to: '2026-13-01T00:00:00Z' }],
    ['from', { from: '2026-06-02T00:00:00Z', to: '2026-06-01T00:00:00Z' }],
    ['from', { from: '2999-01-01T00:00:00Z' }],
    ['stepSeconds', { stepSeconds: 0 }],
    ['stepSeconds', { stepSeconds: -60 }],
    ['stepSeconds', { stepSeconds: 'fine' }],
    ['stepSeconds', { stepSeconds: 60, from: iso(Date.now() - 47 * 60 * minute) }],
    ['environment', { environment: 'nowhere' }],
    ['environment', { environment: 'env_00000000000000000000' }],
  ])('400 names the field: %s %j', async (field, query) => {
    const { status, body } = await request(query)
    expect([status, body.field]).toEqual([400, field])
  })

  test('at most 1,500 points, whatever is requested', async () => {
    expect((await points({ from: '1970-01-01T00:00:00Z' })).length).toBeLessThanOrEqual(1500)
    expect((await points({ from: iso(Date.now() - 1400 * minute), stepSeconds: 60 })).length).toBeLessThanOrEqual(1500)
    expect(await points({ from: '2001-01-01T00:00:00Z', to: '2001-01-02T00:00:00Z' })).toEqual([])
  })

  test('404 for another organisation', async () => {
    const outsider = callsOn(scene.instance, (await makePeople(scene.instance)).owner.token)(project)
    expect((await outsider('GET', '/metrics')).status).toBe(404)
  })
})

describe('metrics are kept for 30 days in bounded space', () => {
  test('minutes older than two days are combined into half hours with the same values', async () => {
    const start = Math.floor((Date.now() - 5 * day) / (30 * minute)) * 30 * minute
    const minutes = Array.from({ length: 60 }, (_, at) => start + at * minute)
    await keep(...minutes.flatMap((at) => [requested(at), requested(at, { counter: 'edge.2' })]))
    await use(...minutes.map((at) => used(at)))
    const query = { from: iso(start), to: iso(start + 60 * minute), stepSeconds: 1800 }
    const before = await points(query)
    expect(before).toEqual([
      expect.objectContaining({ requests: 600 }),
      expect.objectContaining({ requests: 600, cpuCores: 0.25 }),
    ])
    await thin(Date.now())
    expect(await rowCount()).toBe(2)
    expect(await points(query)).toEqual(before)
    // Late counts of an already combined half hour are added to it.
    await keep(requested(start, { counter: 'edge.3' }))
    await thin(Date.now())
    expect(await rowCount()).toBe(2)
    expect((await points(query)).map(({ requests }) => requests)).toEqual([610, 600])
  })

  test('data older than thirty days is deleted', async () => {
    await keep(requested(ago(31 * 24 * 60)), requested(ago(5)))
    await thin(Date.now())
    expect(await rowCount()).toBe(1)
    await thin(Date.now() + 31 * day)
    expect(await rowCount()).toBe(0)
  })

  test('metrics are deleted with the project', async () => {
    await keep(requested(ago(5)))
    expect(await rowCount()).toBe(1)
    expect((await callsOn(scene.instance, scene.people.owner.token)(project)('DELETE', '')).status).toBe(200)
    expect(await rowCount()).toBe(0)
    await keep(requested(ago(5)))
    expect((await scene.instance.database.db.selectFrom('metrics').select('at').execute()).length).toBe(
      (
        await scene.instance.database.db
          .selectFrom('metrics')
          .innerJoin('environments', 'environments.id', 'metrics.environmentId')
          .select('at')
          .execute()
      ).length,
    )
  })
})
