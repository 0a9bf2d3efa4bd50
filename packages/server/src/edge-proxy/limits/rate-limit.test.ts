import { describe, expect, test } from 'vitest'
import { RateLimit } from './rate-limit.ts'

const passes = (limit: RateLimit, times: number, at: number, client = 'c') =>
  Array.from({ length: times }, () => limit.take(client, at)).filter((wait) => wait === 0).length

describe('a rate limit', () => {
  test('passes exactly the given number of requests in a window', () => {
    const limit = new RateLimit({ requests: 5, windowSeconds: 10 })
    expect(passes(limit, 20, 1_000)).toBe(5)
    expect(passes(limit, 20, 10_900)).toBe(0)
  })

  test('counts each client separately', () => {
    const limit = new RateLimit({ requests: 2, windowSeconds: 10 })
    expect(passes(limit, 5, 0, 'a')).toBe(2)
    expect(passes(limit, 5, 0, 'b')).toBe(2)
  })

  test('never passes more than the given number in any interval of the window length', () => {
    const limit = new RateLimit({ requests: 10, windowSeconds: 10 })
    const taken: number[] = []
    for (let now = 0; now < 120_000; now += 130) if (limit.take('c', now) === 0) taken.push(now)
    const most = Math.max(...taken.map((from) => taken.filter((at) => at >= from && at < from + 10_000).length))
    expect(most).toBeLessThanOrEqual(11)
    expect(taken.length).toBeGreaterThan(100)
  })

  test('returns the time after which a retry succeeds', () => {
    const limit = new RateLimit({ requests: 3, windowSeconds: 10 })
    passes(limit, 3, 0)
    const wait = limit.take('c', 4_000)
    expect(wait).toBeGreaterThanOrEqual(6)
    expect(wait).toBeLessThanOrEqual(11)
    expect(limit.take('c', 4_000 + wait * 1000 + 1)).toBe(0)
  })

  test('accumulates unused requests up to the burst', () => {
    const limit = new RateLimit({ requests: 5, windowSeconds: 10, burst: 3 })
    expect(passes(limit, 20, 0)).toBe(8)
    expect(passes(limit, 20, 30_000)).toBe(8)
    expect(passes(limit, 20, 40_100)).toBeLessThanOrEqual(1)
  })

  test('keeps a limited number of clients', () => {
    const limit = new RateLimit({ requests: 1, windowSeconds: 60 }, 100)
    for (let at = 0; at < 10_000; at += 1) limit.take(`client ${at}`, at)
    expect(passes(limit, 1, 10_000, 'client 9999')).toBe(0)
    expect(limit.clients).toBeLessThanOrEqual(100)
  })

  test('counts requests passed by other workers', () => {
    const [here, there] = [new RateLimit({ requests: 4, windowSeconds: 10 }), new RateLimit({ requests: 4, windowSeconds: 10 })]
    here.enableSharing()
    there.enableSharing()
    expect(passes(here, 3, 0)).toBe(3)
    for (const [client, count] of here.takeChanges()) there.addRemoteCount(client, count, 1)
    expect(passes(there, 3, 2)).toBe(1)
    expect(here.takeChanges()).toEqual([])
  })
})
