import { newId } from '../../../platform/db/ids.ts'
import type { Candidate } from './audience.ts'
import { burst, placeOf, type Recent } from './burst.ts'

export interface Target extends Candidate {
  userId: string
}

/** A delivery to be written. */
export interface Fresh {
  announcementId: string
  state: Recent
  /** When a job takes it there; null: it is there already. */
  sendAt: number | null
  /** Deliveries of before that it takes in, as far as they still wait. */
  merges: readonly string[]
}

export interface Joined {
  id: string
  deliveryId: string
  announcementId: string
}

/** What one channel gets of some announcements. */
export interface ChannelPlan {
  target: Target
  recent: readonly Recent[]
  fresh: readonly Fresh[]
  joined: readonly Joined[]
  /** One that is there already stands for so many more, unless it is sent in this very moment. */
  joins: { into: string; count: number } | null
}

/** An announcement, and when its deliveries are made: no two in one moment, so that a feed keeps their order. */
export interface Announced {
  id: string
  at: number
}

/** Places one announcement after the other as `placeOf` says, without asking the database in between. */
export function planFor(target: Target, recent: readonly Recent[], announced: readonly Announced[]): ChannelPlan {
  const states = new Map(recent.map((one) => [one.id, { ...one }]))
  const fresh = new Map<string, Fresh>()
  const joined: Joined[] = []
  const joins = new Map<string, number>()
  for (const { id: announcementId, at } of announced) {
    const place = placeOf([...states.values()], at)
    if (place.as === 'joined') {
      const { into } = place
      joined.push({ id: newId('ndl'), deliveryId: into, announcementId })
      states.get(into)!.joinedCount++
      if (!fresh.has(into)) joins.set(into, (joins.get(into) ?? 0) + 1)
      continue
    }
    const made = newState(target, place.as === 'head', at)
    const merges = place.as === 'head' ? place.merges : []
    for (const id of merges) {
      states.delete(id)
      made.joinedCount++
      const unwritten = fresh.get(id)
      if (unwritten) joined.push({ id, deliveryId: made.id, announcementId: unwritten.announcementId })
    }
    const sendAt = place.as === 'head' ? place.dueAt : made.status === 'sent' ? null : at + burst.gatherMs
    const written = merges.filter((id) => !fresh.delete(id))
    states.set(made.id, made)
    fresh.set(made.id, { announcementId, state: made, sendAt, merges: written })
  }
  // A channel has one open at a time, and one that this plan begins is not there yet.
  const [into, count = 0] = [...joins][0] ?? []
  return { target, recent, fresh: [...fresh.values()], joined, joins: into === undefined ? null : { into, count } }
}

/** In the feed, recorded is delivered: the row is the entry. One that gathers is delivered later, wherever it goes. */
function newState({ kind }: Target, gathers: boolean, at: number): Recent {
  const id = newId('ndl')
  return kind === 'in_app' && !gathers
    ? { id, status: 'sent', attempts: 1, joinedCount: 0, createdAt: at, sentAt: at }
    : { id, status: 'queued', attempts: 0, joinedCount: gathers ? 1 : 0, createdAt: at, sentAt: null }
}
