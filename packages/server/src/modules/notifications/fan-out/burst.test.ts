import { describe, expect, test } from 'vitest'
import { burst, placeOf, type Recent } from './burst.ts'

const now = 1_000_000
const told = (secondsAgo: number, changes: Partial<Recent> = {}): Recent => ({
  id: `told-${secondsAgo}`,
  status: 'sent',
  attempts: 1,
  joinedCount: 0,
  createdAt: now - secondsAgo * 1_000,
  sentAt: now - secondsAgo * 1_000,
  ...changes,
})
const waiting = (secondsAgo: number, changes: Partial<Recent> = {}) =>
  told(secondsAgo, { id: `waiting-${secondsAgo}`, status: 'queued', attempts: 0, sentAt: null, ...changes })
const many = (count: number, make: (secondsAgo: number) => Recent) => Array.from({ length: count }, (_, at) => make(at + 1))

describe('where a new delivery goes', () => {
  test('up to ten a minute go alone', () => {
    expect(placeOf([], now)).toEqual({ as: 'alone' })
    expect(placeOf(many(9, told), now)).toEqual({ as: 'alone' })
    expect(placeOf([...many(9, told), told(61), told(70)], now)).toEqual({ as: 'alone' })
  })
  test('the eleventh gathers the rest of the minute that began with the first', () => {
    expect(placeOf(many(10, told), now)).toEqual({ as: 'head', dueAt: now - 10_000 + 60_000, merges: [] })
  })
  test('while none is sent yet, all queued deliveries become one digest at once', () => {
    const place = placeOf(many(10, waiting), now)
    expect(place).toEqual({ as: 'head', dueAt: now + burst.gatherMs, merges: many(10, waiting).map(({ id }) => id) })
  })
  test('once some are sent, the queued deliveries become a digest at the end of the minute', () => {
    expect(placeOf([...many(5, told), ...many(5, waiting)], now)).toMatchObject({
      dueAt: now - 5_000 + 60_000,
      merges: { length: 5 },
    })
  })
  test('while one gathers, all are joined into it', () => {
    const head = waiting(30, { id: 'head', joinedCount: 7 })
    expect(placeOf([...many(10, told), head], now)).toEqual({ as: 'joined', into: 'head' })
    expect(placeOf([{ ...head, createdAt: now - 90_000 }], now)).toEqual({ as: 'joined', into: 'head' })
  })
  test('one whose first try has begun takes no more', () => {
    for (const begun of [
      { status: 'sending', attempts: 1 },
      { status: 'queued', attempts: 1 },
    ] as const)
      expect(placeOf([waiting(30, { id: 'head', joinedCount: 7, ...begun })], now).as).toBe('head')
  })
  test('one that is full takes no more', () => {
    expect(placeOf([waiting(30, { joinedCount: burst.largest })], now)).toEqual({ as: 'head', dueAt: now + 30_000, merges: [] })
  })
  test('within a minute of a joined one the next is gathered too, and comes a minute after it', () => {
    const head = told(20, { joinedCount: 12, createdAt: now - 80_000 })
    expect(placeOf([head], now)).toEqual({ as: 'head', dueAt: now + 40_000, merges: [] })
    expect(placeOf([{ ...head, sentAt: now - 60_000 }], now)).toEqual({ as: 'alone' })
  })
})
