import { newId } from '../../../platform/db/ids.ts'
import { burst, placementOf, type Recent } from '../burst.ts'
import type { Candidate } from './audience.ts'

export interface Target extends Candidate {
  userId: string
}

/** A delivery to insert. */
export interface Fresh {
  announcementId: string
  state: Recent
  /** When a job sends it; null: no job needed, the row is the feed entry. */
  sendAt: number | null
  /** Earlier deliveries that it absorbs, if they are still queued. */
  merges: readonly string[]
}

export interface Joined {
  id: string
  deliveryId: string
  announcementId: string
}

/** The deliveries of some announcements to one channel. */
export interface ChannelPlan {
  target: Target
  recent: readonly Recent[]
  fresh: readonly Fresh[]
  joined: readonly Joined[]
  /** An existing digest that gets so many more, unless its first attempt begins at this moment. */
  joins: { into: string; count: number } | null
}

/** An announcement and the creation time of its deliveries. Times are unique, so that a feed keeps their order. */
export interface Announced {
  id: string
  at: number
}

/** Places the announcements one after the other with `placementOf`, without further queries. */
export function planFor(target: Target, recent: readonly Recent[], announced: readonly Announced[]): ChannelPlan {
  const states = new Map(recent.map((one) => [one.id, { ...one }]))
  const fresh = new Map<string, Fresh>()
  const joined: Joined[] = []
  const joins = new Map<string, number>()
  for (const { id: announcementId, at } of announced) {
    const placement = placementOf([...states.values()], at)
    if (placement.as === 'joined') {
      const { into } = placement
      joined.push({ id: newId('ndl'), deliveryId: into, announcementId })
      states.get(into)!.joinedCount++
      if (!fresh.has(into)) joins.set(into, (joins.get(into) ?? 0) + 1)
      continue
    }
    const created = newState(target, placement.as === 'head', at)
    const merges = placement.as === 'head' ? placement.merges : []
    for (const id of merges) {
      states.delete(id)
      created.joinedCount++
      const unwritten = fresh.get(id)
      if (unwritten) joined.push({ id, deliveryId: created.id, announcementId: unwritten.announcementId })
    }
    const sendAt = placement.as === 'head' ? placement.dueAt : created.status === 'sent' ? null : at + burst.gatherMs
    // Deliveries that only this plan contains are dropped; `stored` ones have a row that the new digest absorbs.
    const stored = merges.filter((id) => !fresh.has(id))
    for (const id of merges) fresh.delete(id)
    states.set(created.id, created)
    fresh.set(created.id, { announcementId, state: created, sendAt, merges: stored })
  }
  // A channel has at most one open digest; one that this plan creates is not counted in `joins`.
  const [into, count = 0] = [...joins][0] ?? []
  return { target, recent, fresh: [...fresh.values()], joined, joins: into === undefined ? null : { into, count } }
}

/**
 * The initial state of a delivery. An in-app delivery counts as sent at once, as its row is the feed entry; a digest is sent later
 * on every channel.
 */
function newState({ kind }: Target, isDigest: boolean, at: number): Recent {
  const id = newId('ndl')
  return kind === 'in_app' && !isDigest
    ? { id, status: 'sent', attempts: 1, joinedCount: 0, createdAt: at, sentAt: at }
    : { id, status: 'queued', attempts: 0, joinedCount: isDigest ? 1 : 0, createdAt: at, sentAt: null }
}
