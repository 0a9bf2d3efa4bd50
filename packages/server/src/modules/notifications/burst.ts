import type { Millis } from '../../platform/db/columns.ts'
import type { DeliveryRow } from '../../platform/db/tables/notifications.ts'

/** More than `maxSeparate` deliveries of one category to one channel within `windowMs` are joined into a digest. */
export const burst = {
  maxSeparate: 10,
  windowMs: 60_000,
  /** How long an external delivery waits for others, so that simultaneous events are sent together. */
  gatherMs: 1_000,
  /** Maximum deliveries in a digest; the next one starts another. */
  largest: 500,
  /** Age up to which digests count: one waits for up to a window, and counts for one more. */
  memoryMs: 180_000,
} as const

/** An earlier delivery of the same category to the same channel; `joinedCount` above 0 makes it a digest. */
export type Recent = Pick<DeliveryRow, 'id' | 'status' | 'attempts' | 'joinedCount' | 'createdAt' | 'sentAt'>

export type Placement =
  | { as: 'alone' }
  | { as: 'joined'; into: string }
  /** A new digest, sent at `dueAt`; others join it until then. `merges` are queued deliveries that it absorbs. */
  | { as: 'head'; dueAt: Millis; merges: string[] }

/**
 * Whether a new delivery is sent alone, joins a digest, or begins one. `recent` are the single deliveries of the last minute and the
 * digests of the last `memoryMs`.
 */
export function placementOf(recent: readonly Recent[], now: Millis): Placement {
  const windowStart = now - burst.windowMs
  const inWindow = recent.filter(({ createdAt }) => createdAt > windowStart)
  const heads = recent.filter((one) => one.joinedCount > 0 && (isWaiting(one) || (one.sentAt ?? one.createdAt) > windowStart))
  const open = heads.find(isOpen)
  if (open) return { as: 'joined', into: open.id }
  // After a digest, the deliveries of the next minute are joined too, even if they are few.
  if (heads.length === 0 && inWindow.length < burst.maxSeparate) return { as: 'alone' }
  const waiting = inWindow.filter((one) => isWaiting(one) && one.joinedCount === 0)
  return { as: 'head', dueAt: dueAt(heads, inWindow, waiting, now), merges: waiting.map(({ id }) => id) }
}

/**
 * When to send a new digest: at once if none of its deliveries was sent yet, else at the end of the window that the first one
 * began.
 */
function dueAt(heads: readonly Recent[], inWindow: readonly Recent[], waiting: readonly Recent[], now: Millis): Millis {
  const gatherUntil = now + burst.gatherMs
  if (heads.length === 0 && waiting.length === inWindow.length) return gatherUntil
  const windowStartedAt =
    heads.length > 0
      ? Math.max(...heads.map(({ sentAt, createdAt }) => sentAt ?? createdAt))
      : Math.min(...inWindow.map(({ createdAt }) => createdAt))
  return Math.max(gatherUntil, windowStartedAt + burst.windowMs)
}

/** Whether more deliveries can join the digest. */
export const isOpen = (one: Recent): boolean => isWaiting(one) && one.joinedCount > 0 && one.joinedCount < burst.largest

const isWaiting = ({ status, attempts }: Recent) => status === 'queued' && attempts === 0
