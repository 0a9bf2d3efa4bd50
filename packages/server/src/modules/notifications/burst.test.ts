import { describe, expect, test } from 'vitest'
import { burst, placementOf, type Recent } from './burst.ts'

const now = 1_000_000
const reported = (secondsAgo: number, changes: Partial<Recent> = {}): Recent => ({
  id: `told-${secondsAgo}`,
  status: 'sent',
  attempts: 1,
  joinedCount: 0,
  createdAt: now - secondsAgo * 1_000,
  sentAt: now - secondsAgo * 1_000,
  ...changes,
})
const waiting = (secondsAgo: number, changes: Partial<Recent> = {}) =>
  reported(secondsAgo, { id: `waiting-${secondsAgo}`, status: 'queued', attempts: 0, sentAt: null, ...changes })
const many = (count: number, make: (secondsAgo: number) => Recent) => Array.from({ length: count }, (_, at) => make(at + 1))

describe('the delivery to which an event is added', () => {
  test('up to ten deliveries a minute are separate', () => {
    expect(placementOf([], now)).toEqual({ as: 'alone' })
    expect(placementOf(many(9, reported), now)).toEqual({ as: 'alone' })
    expect(placementOf([...many(9, reported), reported(61), reported(70)], now)).toEqual({ as: 'alone' })
  })
  test('the eleventh collects the rest of the minute that began with the first', () => {
    expect(placementOf(many(10, reported), now)).toEqual({ as: 'head', dueAt: now - 10_000 + 60_000, merges: [] })
  })
  test('while none is sent yet, all queued deliveries become one digest at once', () => {
    const placement = placementOf(many(10, waiting), now)
    expect(placement).toEqual({ as: 'head', dueAt: now + burst.gatherMs, merges: many(10, waiting).map(({ id }) => id) })
  })
  test('once some are sent, the queued deliveries become a digest at the end of the minute', () => {
    expect(placementOf([...many(5, reported), ...many(5, waiting)], now)).toMatchObject({
      dueAt: now - 5_000 + 60_000,
      merges: { length: 5 },
    })
  })
  test('a collecting delivery takes all further events', () => {
    const head = waiting(30, { id: 'head', joinedCount: 7 })
    expect(placementOf([...many(10, reported), head], now)).toEqual({ as: 'joined', into: 'head' })
    expect(placementOf([{ ...head, createdAt: now - 90_000 }], now)).toEqual({ as: 'joined', into: 'head' })
  })
  test('a delivery whose first attempt has started takes no further events', () => {
    for (const begun of [
      { status: 'sending', attempts: 1 },
      { status: 'queued', attempts: 1 },
    ] as const)
      expect(placementOf([waiting(30, { id: 'head', joinedCount: 7, ...begun })], now).as).toBe('head')
  })
  test('a full delivery takes no further events', () => {
    expect(placementOf([waiting(30, { joinedCount: burst.largest })], now)).toEqual({
      as: 'head',
      dueAt: now + 30_000,
      merges: [],
    })
  })
  test('within a minute after a collected delivery the next one collects too, and is sent a minute after it', () => {
    const head = reported(20, { joinedCount: 12, createdAt: now - 80_000 })
    expect(placementOf([head], now)).toEqual({ as: 'head', dueAt: now + 40_000, merges: [] })
    expect(placementOf([{ ...head, sentAt: now - 60_000 }], now)).toEqual({ as: 'alone' })
  })
})
