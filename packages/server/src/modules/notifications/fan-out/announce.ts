import { type Announcement, announceKind } from '../../../platform/jobs/announce.ts'
import { type Job, job } from '../../../platform/jobs/declare.ts'
import { endWaiting, findWaiting, type WaitingJob } from '../../../platform/jobs/waiting.ts'
import type { Bound } from '../../../platform/transaction.ts'
import * as store from '../delivery/delivery-store.ts'
import { type NotificationsDeps, nowOf } from '../deps.ts'
import { type FeedSignal, feedTopic } from '../feed/feed-stream.ts'
import { contentOf } from './announcement-content.ts'
import { makeDeliveries } from './make-deliveries.ts'
import { findTargets } from './targets.ts'

/** Tells people: who is decided, and a delivery written for each of their channels, in one transaction. */
export function announceJob(deps: NotificationsDeps): Job<Announcement, undefined> {
  return job<Announcement, undefined>(announceKind.kind, {
    deadlineMs: 120_000,
    maxAttempts: 20,
    // After a failure alone: what cannot be told must not hold up the others for longer than one try.
    run: (payload, _deps, _abort, { jobId, attempt }) => tell({ id: jobId, payload }, { alone: attempt > 1 }, deps),
  })
}

/**
 * The id is the job's own: running it again finds what it wrote and does nothing. In a flood those that wait for the same people are
 * told along with it, so that a delivery that stands for many is written once for all of them.
 */
function tell(first: WaitingJob<Announcement>, { alone }: { alone: boolean }, deps: NotificationsDeps): Promise<void> {
  const { organizationId, category } = first.payload
  const { transaction, kind } = deps.database
  return transaction(async (bound) => {
    // One announcement of an organisation at a time, so that each sees what the one before added to a burst.
    await bound.lock(`notifications:${organizationId}`)
    if (await store.isAnnounced(bound.db, first.id)) return
    const targets = await findTargets(bound, first.payload, deps)
    if (targets.length === 0) return
    const told = alone ? [first] : [first, ...(await coalesce(bound, first.payload, targets.length, deps))]
    await store.insertAnnouncements(
      bound.db,
      told.map(({ id, payload }) => ({ id, organizationId, category, ...contentOf(payload) })),
    )
    const announced = { organizationId, category, ids: told.map(({ id }) => id) }
    for (let at = 0; at < targets.length; at += chunk) {
      const inFeed = await makeDeliveries(targets.slice(at, at + chunk), { bound, kind, announced, now: nowOf(deps) })
      for (const id of inFeed) bound.signal(feedTopic(organizationId), { announced: id } satisfies FeedSignal)
    }
  })
}

/** Channels of one statement: both databases bound the number of its values. */
const chunk = 500

/** One transaction tells so many announcements, and makes about so many deliveries: others wait for it, and it is kept in memory. */
const most = { announcements: 20, deliveries: 1_000 }

/** Others that wait and are for the same people. They end with this transaction, or nothing of it is true. */
async function coalesce(
  bound: Bound,
  { organizationId, category, userId }: Announcement,
  targetCount: number,
  deps: NotificationsDeps,
): Promise<WaitingJob<Announcement>[]> {
  const room = Math.min(most.announcements, Math.floor(most.deliveries / targetCount)) - 1
  if (room < 1) return []
  const now = new Date(nowOf(deps))
  const waiting = await findWaiting(bound.db, announceKind, now, room)
  const fitting = waiting.filter(
    ({ payload }) => payload.organizationId === organizationId && payload.category === category && payload.userId === userId,
  )
  const ended = await endWaiting(
    bound.db,
    fitting.map(({ id }) => id),
    now,
  )
  return fitting.filter(({ id }) => ended.has(id))
}
