import { describe, expect, test } from 'vitest'
import { WakeQueue } from './wake-queue.ts'

const limits = { heldRequests: 3, heldBytes: 1_000, clientShare: 1, projectShare: 1 }
const held = (heldBytes = 10, heldBy = 'a client') => ({
  heldBytes,
  heldBy,
  proceeded: 0,
  givenUp: 0,
  proceed() {
    this.proceeded += 1
  },
  giveUp() {
    this.givenUp += 1
  },
})

describe('the holding room', () => {
  test('asks to wake a project once, and again while a request waits', () => {
    const woken: string[] = []
    const room = new WakeQueue((projectId, hostname) => woken.push(`${projectId} ${hostname}`))
    room.enter(held(), 'p', 'a', limits, 0)
    room.enter(held(), 'p', 'b', limits, 10)
    expect(woken).toEqual(['p a'])
    room.retry(1_000)
    expect(woken).toHaveLength(1)
    room.retry(2_500)
    expect(woken).toEqual(['p a', 'p a'])
    room.retry(2_600, true)
    expect(woken).toHaveLength(3)
  })

  test('is full at its number of requests and of bytes', () => {
    const room = new WakeQueue(() => {})
    expect(room.enter(held(600), 'p', 'a', limits, 0)).toBe(true)
    expect(room.enter(held(600), 'p', 'a', limits, 0)).toBe(false)
    const small = held()
    expect(room.enter(small, 'p', 'a', limits, 0)).toBe(true)
    expect(room.enter(held(), 'q', 'a', limits, 0)).toBe(true)
    expect(room.enter(held(), 'q', 'a', limits, 0)).toBe(false)
    room.leave(small, 'p')
    room.leave(small, 'p')
    expect(room.enter(held(), 'q', 'a', limits, 0)).toBe(true)
  })

  test('has a share for each client and each project, so that neither keeps the others out', () => {
    const room = new WakeQueue(() => {})
    const shares = { heldRequests: 8, heldBytes: 8_000, clientShare: 0.25, projectShare: 0.5 }
    const enter = (heldBy: string, projectId: string, bytes = 10) => room.enter(held(bytes, heldBy), projectId, 'h', shares, 0)
    expect([1, 2, 3].map(() => enter('greedy', 'p'))).toEqual([true, true, false])
    expect(enter('greedy', 'q')).toBe(false)
    expect([enter('b', 'p'), enter('c', 'p'), enter('d', 'p')]).toEqual([true, true, false])
    expect([enter('d', 'q', 1_500), enter('d', 'q', 1_500), enter('e', 'q', 1_500)]).toEqual([true, false, true])
  })

  test('lets everybody look again at a new table, each once', () => {
    const room = new WakeQueue(() => {})
    const waiting = [held(), held()]
    for (const one of waiting) room.enter(one, 'p', 'a', limits, 0)
    room.reconsider()
    expect(waiting.map((one) => one.proceeded)).toEqual([1, 1])
    expect(room.count).toBe(0)
    room.reconsider()
    expect(waiting.map((one) => one.proceeded)).toEqual([1, 1])
  })

  test('sends everybody away when the edge closes', () => {
    const room = new WakeQueue(() => {})
    const waiting = [held(), held()]
    room.enter(waiting[0]!, 'p', 'a', limits, 0)
    room.enter(waiting[1]!, 'q', 'b', limits, 0)
    room.dismiss()
    expect(waiting.map((one) => one.givenUp)).toEqual([1, 1])
  })
})
