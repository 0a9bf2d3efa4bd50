import { expect, test } from 'vitest'
import { TrafficCounters } from './traffic-counters.ts'

const minute = 60_000
const ok = { status: 200, bytesOut: 100 }
const ids = (...names: string[]) => new Set(names)

test('a minute is reported completely when it has grown, and not otherwise', () => {
  const counters = new TrafficCounters()
  const shop = counters.counterOf('shop', 'production')
  counters.count(shop, 5 * minute, ok, 3)
  counters.count(shop, 5 * minute + 1, { status: 404, bytesOut: 0 }, 3)
  const [first, ...others] = counters.take(5 * minute)
  expect(others).toEqual([])
  expect(first).toMatchObject({
    projectId: 'shop',
    environment: 'production',
    at: 5 * minute,
    requests: 2,
    errors4xx: 1,
    bytesOut: 100,
  })
  expect(counters.take(5 * minute)).toEqual([])
  counters.count(shop, 5 * minute + 2, { status: 502, bytesOut: 0 }, 3)
  expect(counters.take(5 * minute)).toEqual([expect.objectContaining({ counter: first!.counter, requests: 3, errors5xx: 1 })])
})

test('a past minute is reported with its last values, beside the current one', () => {
  const counters = new TrafficCounters()
  const shop = counters.counterOf('shop', 'production')
  counters.count(shop, 5 * minute, ok, 3)
  counters.take(5 * minute)
  counters.count(shop, 5 * minute + 1, ok, 3)
  counters.count(shop, 6 * minute, ok, 3)
  expect(counters.take(6 * minute).map(({ at, requests }) => [at / minute, requests])).toEqual([
    [5, 2],
    [6, 1],
  ])
})

test('a new control plane gets the last 15 minutes', () => {
  const counters = new TrafficCounters()
  const shop = counters.counterOf('shop', 'production')
  for (let at = 1; at <= 40; at++) {
    counters.count(shop, at * minute, ok, 3)
    counters.take(at * minute)
  }
  counters.reportAgain()
  expect(counters.take(40 * minute).map(({ at }) => at / minute)).toEqual(Array.from({ length: 16 }, (_, at) => 25 + at))
})

test('without a control plane it keeps its counts, up to a limit', () => {
  const counters = new TrafficCounters()
  const shop = counters.counterOf('shop', 'production')
  for (let at = 1; at <= 5000; at++) counters.count(shop, at * minute, ok, 3)
  const reported = counters.take(5000 * minute)
  expect([reported.length, reported.at(-1)!.at / minute]).toEqual([4097, 5000])
})

test('a project that leaves the table is still reported; one that returns gets a new counter', () => {
  const counters = new TrafficCounters()
  const before = counters.counterOf('shop', 'production')
  counters.count(before, minute, ok, 3)
  counters.keepOnly(ids(), ids())
  const after = counters.counterOf('shop', 'production')
  counters.count(after, minute, ok, 3)
  const reported = counters.take(minute)
  expect(reported.map(({ requests }) => requests)).toEqual([1, 1])
  expect(new Set(reported.map(({ counter }) => counter)).size).toBe(2)
})

test('a clock that is set back starts no minute twice', () => {
  const counters = new TrafficCounters()
  const shop = counters.counterOf('shop', 'production')
  for (const at of [7, 6, 7]) counters.count(shop, at * minute, ok, 3)
  const reported = counters.take(7 * minute)
  expect(new Set(reported.map(({ counter, at }) => `${counter} ${at}`)).size).toBe(3)
})

test('an upgraded connection counts as a request but not in the latency', () => {
  const counters = new TrafficCounters()
  counters.count(counters.counterOf('shop', 'production'), minute, { status: 101, bytesOut: 9 }, 3_600_000)
  expect(counters.take(minute)).toEqual([expect.objectContaining({ requests: 1, bytesOut: 9, latency: [] })])
})
