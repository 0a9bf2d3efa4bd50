import { describe, expect, test } from 'vitest'
import { WakeQueue } from './wake-queue.ts'

const limits = { heldRequests: 3, heldBytes: 1_000, clientShare: 1, projectShare: 1 }
const held = (queuedBytes = 10, shareClient = 'a client') => ({
  queuedBytes,
  shareClient,
  proceeded: 0,
  givenUp: 0,
  proceed() {
    this.proceeded += 1
  },
  reject() {
    this.givenUp += 1
  },
})

describe('the wake queue', () => {
  test('requests the wake of a project once, and again while a request waits', () => {
    const woken: string[] = []
    const wakeQueue = new WakeQueue((projectId, hostname) => woken.push(`${projectId} ${hostname}`))
    wakeQueue.add(held(), 'p', 'a', limits, 0)
    wakeQueue.add(held(), 'p', 'b', limits, 10)
    expect(woken).toEqual(['p a'])
    wakeQueue.retry(1_000)
    expect(woken).toHaveLength(1)
    wakeQueue.retry(2_500)
    expect(woken).toEqual(['p a', 'p a'])
    wakeQueue.retry(2_600, true)
    expect(woken).toHaveLength(3)
  })

  test('is limited by number and size of requests', () => {
    const wakeQueue = new WakeQueue(() => {})
    expect(wakeQueue.add(held(600), 'p', 'a', limits, 0)).toBe(true)
    expect(wakeQueue.add(held(600), 'p', 'a', limits, 0)).toBe(false)
    const small = held()
    expect(wakeQueue.add(small, 'p', 'a', limits, 0)).toBe(true)
    expect(wakeQueue.add(held(), 'q', 'a', limits, 0)).toBe(true)
    expect(wakeQueue.add(held(), 'q', 'a', limits, 0)).toBe(false)
    wakeQueue.remove(small, 'p')
    wakeQueue.remove(small, 'p')
    expect(wakeQueue.add(held(), 'q', 'a', limits, 0)).toBe(true)
  })

  test('has a share for each client and each project, so that none blocks others', () => {
    const wakeQueue = new WakeQueue(() => {})
    const shares = { heldRequests: 8, heldBytes: 8_000, clientShare: 0.25, projectShare: 0.5 }
    const enter = (shareClient: string, projectId: string, bytes = 10) =>
      wakeQueue.add(held(bytes, shareClient), projectId, 'h', shares, 0)
    expect([1, 2, 3].map(() => enter('greedy', 'p'))).toEqual([true, true, false])
    expect(enter('greedy', 'q')).toBe(false)
    expect([enter('b', 'p'), enter('c', 'p'), enter('d', 'p')]).toEqual([true, true, false])
    expect([enter('d', 'q', 1_500), enter('d', 'q', 1_500), enter('e', 'q', 1_500)]).toEqual([true, false, true])
  })

  test('re-routes each waiting request once for a new table', () => {
    const wakeQueue = new WakeQueue(() => {})
    const waiting = [held(), held()]
    for (const one of waiting) wakeQueue.add(one, 'p', 'a', limits, 0)
    wakeQueue.rerouteAll()
    expect(waiting.map((one) => one.proceeded)).toEqual([1, 1])
    expect(wakeQueue.count).toBe(0)
    wakeQueue.rerouteAll()
    expect(waiting.map((one) => one.proceeded)).toEqual([1, 1])
  })

  test('answers all waiting requests when the edge closes', () => {
    const wakeQueue = new WakeQueue(() => {})
    const waiting = [held(), held()]
    wakeQueue.add(waiting[0]!, 'p', 'a', limits, 0)
    wakeQueue.add(waiting[1]!, 'q', 'b', limits, 0)
    wakeQueue.rejectAll()
    expect(waiting.map((one) => one.givenUp)).toEqual([1, 1])
  })
})
