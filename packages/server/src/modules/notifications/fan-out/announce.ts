import { type Announcement, announceKind } from '../../../platform/jobs/announce.ts'
import { type Job, job } from '../../../platform/jobs/declare.ts'
import { endWaiting, findWaiting, type WaitingJob } from '../../../platform/jobs/waiting.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import * as store from '../delivery-store.ts'
import { type NotificationsDeps, nowOf } from '../deps.ts'
import { type FeedSignal, feedTopic } from '../feed/feed-stream.ts'
import { contentOf } from './announcement-content.ts'
import { makeDeliveries } from './make-deliveries.ts'
import { findTargets } from './targets.ts'

/** Fans an announcement out: determines the recipients and writes a delivery for each of their channels, in one transaction. */
export function announceJob(deps: NotificationsDeps): Job<Announcement, undefined> {
  return job<Announcement, undefined>(announceKind.kind, {
    deadlineMs: 120_000,
    maxAttempts: 20,
    // Alone after a failure: an announcement that cannot be delivered must not block the others for more than one attempt.
    run: (payload, _deps, _abort, { jobId, attempt }) => notify({ id: jobId, payload }, { alone: attempt > 1 }, deps),
  })
}

/**
 * Writes the deliveries of an announcement. Its id is the job's id, so a repeated job finds its rows and does nothing. In a burst,
 * waiting announcements for the same recipients are included, so that a digest is written once for all of them.
 */
function notify(first: WaitingJob<Announcement>, { alone }: { alone: boolean }, deps: NotificationsDeps): Promise<void> {
  const { organizationId, category } = first.payload
  const { database } = deps
  return database.transaction(async (transaction) => {
    // One announcement per organisation at a time, so that each sees the deliveries of the previous one in a burst.
    await transaction.lock(`notifications:${organizationId}`)
    if (await store.isAnnounced(transaction.db, first.id)) return
    const targets = await findTargets(transaction, first.payload, deps)
    if (targets.length === 0) return
    const reported = alone ? [first] : [first, ...(await coalesce(transaction, first.payload, targets.length, deps))]
    await store.insertAnnouncements(
      transaction.db,
      reported.map(({ id, payload }) => ({ id, organizationId, category, ...contentOf(payload) })),
    )
    const announced = { organizationId, category, ids: reported.map(({ id }) => id) }
    for (let offset = 0; offset < targets.length; offset += chunk) {
      const inFeed = await makeDeliveries(targets.slice(offset, offset + chunk), {
        transaction,
        kind: database.kind,
        announced,
        now: nowOf(deps),
      })
      for (const id of inFeed) transaction.signal(feedTopic(organizationId), { announced: id } satisfies FeedSignal)
    }
  })
}

/** Channels per statement: both databases limit the number of parameters. */
const chunk = 500

/** Limits per transaction: other writes wait for it, and it is held in memory. */
const limits = { announcements: 20, deliveries: 1_000 }

/** Takes other waiting announcement jobs for the same recipients. Their end commits with this transaction. */
async function coalesce(
  transaction: TransactionContext,
  { organizationId, category, userId }: Announcement,
  targetCount: number,
  deps: NotificationsDeps,
): Promise<WaitingJob<Announcement>[]> {
  const room = Math.min(limits.announcements, Math.floor(limits.deliveries / targetCount)) - 1
  if (room < 1) return []
  const now = new Date(nowOf(deps))
  const waiting = await findWaiting(transaction.db, announceKind, now, room)
  const fitting = waiting.filter(
    ({ payload }) => payload.organizationId === organizationId && payload.category === category && payload.userId === userId,
  )
  const ended = await endWaiting(
    transaction.db,
    fitting.map(({ id }) => id),
    now,
  )
  return fitting.filter(({ id }) => ended.has(id))
}
