import { expect, test } from 'vitest'
import { bucketOf } from '../../platform/latency-histogram.ts'
import { TrafficTotals } from './traffic-totals.ts'

const minute = 60_000
const start = 1_000 * minute
const sent = (at: number, requests: number, counter = 'edge.1') => ({
  ...{ counter, projectId: 'prj_1', environment: 'production', at },
  ...{ requests, errors4xx: 1, errors5xx: 0, bytesOut: requests * 100, latency: [bucketOf(20), requests] },
})
const requestsOf = (totals: TrafficTotals) => totals.of('prj_1', 'production')?.requests

test('a minute that is reported again adds only its growth', () => {
  const totals = new TrafficTotals(start)
  for (const requests of [2, 5, 5, 9]) totals.add(sent(start, requests))
  expect(totals.of('prj_1', 'production')).toEqual({ requests: 9, errors4xx: 1, errors5xx: 0, bytesOut: 900 })
  expect(totals.latency[bucketOf(20)]).toBe(9)
})

test('minutes and counters are added up, and the total never decreases', () => {
  const totals = new TrafficTotals(start)
  const seen = [
    sent(start, 3),
    sent(start, 4, 'edge.2'),
    sent(start + minute, 2),
    sent(start, 5),
    sent(start + 2 * minute, 1),
  ].map((one) => {
    totals.add(one)
    return requestsOf(totals)
  })
  expect(seen).toEqual([3, 7, 9, 11, 12])
})

test('minutes from before the start, and old ones that are reported again, are ignored', () => {
  const totals = new TrafficTotals(start)
  totals.add(sent(start - 5 * minute, 50))
  expect(requestsOf(totals)).toBeUndefined()
  for (const at of [0, 1, 2, 0]) totals.add(sent(start + at * minute, 10))
  expect(requestsOf(totals)).toBe(30)
})

test('a deleted environment has no totals', () => {
  const totals = new TrafficTotals(start)
  totals.add(sent(start, 3))
  totals.keepOnly([{ projectId: 'prj_2', slug: 'production' }], start)
  expect(requestsOf(totals)).toBeUndefined()
})
