import type { Millis } from '../../../platform/db/columns.ts'
import type { DeliveryRow } from '../../../platform/db/tables/notifications.ts'

/** More than `most` deliveries of one category to one channel within `windowMs` are joined into one. */
export const burst = {
  most: 10,
  windowMs: 60_000,
  /** How long a delivery to the outside waits for others: what happens together is told together. */
  gatherMs: 1_000,
  /** A joined one takes no more than this; the next begins another. */
  largest: 500,
  /** How far back those that others are joined into matter: they wait for up to a window, and count for one more. */
  memoryMs: 180_000,
} as const

/** An earlier delivery of the same category to the same channel; `joinedCount` above 0: others were joined into it. */
export type Recent = Pick<DeliveryRow, 'id' | 'status' | 'attempts' | 'joinedCount' | 'createdAt' | 'sentAt'>

export type Place =
  | { as: 'alone' }
  | { as: 'joined'; into: string }
  /** Others will be joined into it until it is sent, at `dueAt`; `merges` are those that wait already. */
  | { as: 'head'; dueAt: Millis; merges: string[] }

/** Where a new delivery goes. `recent` are those of the last minute, and of the last `memoryMs` those that others are joined into. */
export function placeOf(recent: readonly Recent[], now: Millis): Place {
  const windowStart = now - burst.windowMs
  const inWindow = recent.filter(({ createdAt }) => createdAt > windowStart)
  const heads = recent.filter((one) => one.joinedCount > 0 && (isWaiting(one) || (one.sentAt ?? one.createdAt) > windowStart))
  const open = heads.find(isOpen)
  if (open) return { as: 'joined', into: open.id }
  // Once there was a joined one, the next minute's are joined too, however few were told singly.
  if (heads.length === 0 && inWindow.length < burst.most) return { as: 'alone' }
  const waiting = inWindow.filter((one) => isWaiting(one) && one.joinedCount === 0)
  return { as: 'head', dueAt: dueAt(heads, inWindow, waiting, now), merges: waiting.map(({ id }) => id) }
}

/** At once where nobody was told of any of them yet; else at the end of the minute that began when somebody was. */
function dueAt(heads: readonly Recent[], inWindow: readonly Recent[], waiting: readonly Recent[], now: Millis): Millis {
  const soon = now + burst.gatherMs
  if (heads.length === 0 && waiting.length === inWindow.length) return soon
  const began =
    heads.length > 0
      ? Math.max(...heads.map(({ sentAt, createdAt }) => sentAt ?? createdAt))
      : Math.min(...inWindow.map(({ createdAt }) => createdAt))
  return Math.max(soon, began + burst.windowMs)
}

/** More can be joined into it. */
export const isOpen = (one: Recent): boolean => isWaiting(one) && one.joinedCount > 0 && one.joinedCount < burst.largest

const isWaiting = ({ status, attempts }: Recent) => status === 'queued' && attempts === 0
