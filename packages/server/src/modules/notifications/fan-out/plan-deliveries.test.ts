import { describe, expect, test } from 'vitest'
import { burst, type Recent } from '../burst.ts'
import { planFor, type Target } from './plan-deliveries.ts'

const now = 1_000_000
const channel = (kind: Target['kind']): Target => ({
  id: 'nch_1',
  userId: 'usr_1',
  kind,
  enabled: true,
  verified: true,
  subscribed: null,
})
const events = (count: number) => Array.from({ length: count }, (_, at) => ({ id: `event-${at}`, at: now + at }))
const head = (joinedCount: number): Recent => ({
  id: 'head',
  status: 'queued',
  attempts: 0,
  joinedCount,
  createdAt: now - 5_000,
  sentAt: null,
})

describe('several announcements at once to one channel', () => {
  test('up to ten are separate deliveries', () => {
    const { fresh, joined, joins } = planFor(channel('email'), [], events(10))
    expect(fresh.map(({ announcementId }) => announcementId)).toEqual(events(10).map(({ id }) => id))
    expect(fresh.map(({ state, sendAt }) => [state.createdAt, sendAt, state.status])).toEqual(
      events(10).map(({ at }) => [at, at + burst.gatherMs, 'queued']),
    )
    expect([joined, joins]).toEqual([[], null])
  })

  test('the eleventh collects the ten unwritten ones and all later ones', () => {
    const { fresh, joined, joins } = planFor(channel('email'), [], events(15))
    expect(fresh).toMatchObject([{ announcementId: 'event-10', state: { joinedCount: 15 }, merges: [] }])
    expect(joined.map(({ announcementId }) => announcementId).sort()).toEqual(
      events(15)
        .map(({ id }) => id)
        .filter((id) => id !== 'event-10')
        .sort(),
    )
    expect(new Set(joined.map(({ deliveryId }) => deliveryId))).toEqual(new Set([fresh[0]!.state.id]))
    expect(joins).toBeNull()
  })

  test('earlier deliveries that still wait are collected', () => {
    const waiting = Array.from({ length: 9 }, (_, at) => ({ ...head(0), id: `waiting-${at}` }))
    const { fresh, joined } = planFor(channel('email'), waiting, events(3))
    expect(fresh).toMatchObject([{ announcementId: 'event-1', state: { joinedCount: 12 } }])
    expect(fresh[0]!.merges).toEqual(waiting.map(({ id }) => id))
    expect(joined.map(({ announcementId }) => announcementId)).toEqual(['event-0', 'event-2'])
  })

  test('the feed gets ten entries at once, and one for the rest', () => {
    const { fresh } = planFor(channel('in_app'), [], events(30))
    expect(fresh.map(({ state }) => state.status)).toEqual([...Array(10).fill('sent'), 'queued'])
    expect(fresh.map(({ sendAt }) => sendAt === null)).toEqual([...Array(10).fill(true), false])
    expect(fresh[10]!.state.joinedCount).toBe(20)
  })

  test('a collecting delivery takes further events up to its limit, and the next one takes the rest', () => {
    const all = planFor(channel('email'), [head(7)], events(20))
    expect(all).toMatchObject({ joins: { into: 'head', count: 20 }, fresh: [], joined: { length: 20 } })
    const { joins, fresh, joined } = planFor(channel('email'), [head(burst.largest - 5)], events(20))
    expect(joins).toEqual({ into: 'head', count: 5 })
    expect(fresh).toMatchObject([{ announcementId: 'event-5', state: { joinedCount: 15 } }])
    expect(joined.filter(({ deliveryId }) => deliveryId === 'head')).toHaveLength(5)
    expect(joined).toHaveLength(19)
  })
})
