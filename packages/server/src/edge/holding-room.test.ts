import { describe, expect, test } from 'vitest'
import { HoldingRoom } from './holding-room.ts'

const limits = { heldRequests: 3, heldBytes: 1_000 }
const held = (heldBytes = 10) => ({
  heldBytes,
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
  test('asks to wake a project once, and again while somebody waits', () => {
    const woken: string[] = []
    const room = new HoldingRoom((projectId, hostname) => woken.push(`${projectId} ${hostname}`))
    room.enter(held(), 'p', 'a', limits, 0)
    room.enter(held(), 'p', 'b', limits, 10)
    expect(woken).toEqual(['p a'])
    room.askAgain(1_000)
    expect(woken).toHaveLength(1)
    room.askAgain(2_500)
    expect(woken).toEqual(['p a', 'p a'])
    room.askAgain(2_600, true)
    expect(woken).toHaveLength(3)
  })

  test('is full at its number of requests and of bytes', () => {
    const room = new HoldingRoom(() => {})
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

  test('lets everybody look again at a new table, each once', () => {
    const room = new HoldingRoom(() => {})
    const waiting = [held(), held()]
    for (const one of waiting) room.enter(one, 'p', 'a', limits, 0)
    room.reconsider()
    expect(waiting.map((one) => one.proceeded)).toEqual([1, 1])
    expect(room.count).toBe(0)
    room.reconsider()
    expect(waiting.map((one) => one.proceeded)).toEqual([1, 1])
  })

  test('sends everybody away when the edge closes', () => {
    const room = new HoldingRoom(() => {})
    const waiting = [held(), held()]
    room.enter(waiting[0]!, 'p', 'a', limits, 0)
    room.enter(waiting[1]!, 'q', 'b', limits, 0)
    room.dismiss()
    expect(waiting.map((one) => one.givenUp)).toEqual([1, 1])
  })
})
