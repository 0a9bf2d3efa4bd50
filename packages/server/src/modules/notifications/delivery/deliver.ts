import type { Millis } from '../../../platform/db/columns.ts'
import { type Job, JobAborted, job, sharedKind } from '../../../platform/jobs/declare.ts'
import { KeyedMutex } from '../../../platform/keyed-mutex.ts'
import { kindOf, openConfig } from '../channels/channels.ts'
import * as store from '../delivery-store.ts'
import { type NotificationsDeps, nowOf } from '../deps.ts'
import { type FeedSignal, feedTopic } from '../feed/feed-stream.ts'
import { DeliveryFailed } from '../kinds/kind.ts'
import { messageOf } from './delivery-message.ts'

export const deliverKind = sharedKind<{ deliveryId: string }>('notifications.deliver')

/** Job group: one delivery per channel at a time keeps their order, and a receiver that times out delays only its own channel. */
export const groupOf = (channelId: string) => `notifications:channel:${channelId}`

/**
 * Attempts one delivery once. The delivery row names the job that may attempt it. Each further attempt is a new job; a job whose
 * process died is run again. So a delivery has exactly one job until it ends, and two jobs never attempt it at once.
 */
export function deliverJob(deps: NotificationsDeps): Job<{ deliveryId: string }, undefined> {
  const locks = new KeyedMutex()
  return job<{ deliveryId: string }, undefined>(deliverKind, {
    // Longer than the drivers' own limits, to stop a driver that ignores them.
    deadlineMs: 60_000,
    concurrency: 16,
    // Covers failures on our side only, such as an unreachable database; attempts at the receiver are counted in the row.
    maxAttempts: 30,
    run: ({ deliveryId }, _deps, abort, { jobId }) => deliver(deliveryId, jobId, abort, { ...deps, locks }),
    onFailed: async ({ deliveryId }) => store.abandon(deps.database.db, deliveryId, 'Not sent: internal error in Berth'),
  })
}

type DeliverDeps = NotificationsDeps & { locks: KeyedMutex }

async function deliver(id: string, jobId: string, abort: AbortSignal, deps: DeliverDeps): Promise<void> {
  const { db } = deps.database
  const row = await store.findForSending.first(db, { id })
  if (!row || row.jobId !== jobId || !(row.status === 'queued' || row.status === 'sending')) return
  const obstacle = obstacleOf(row)
  if (obstacle) return await giveUp({ id, jobId, attempt: row.attempts }, row, obstacle, deps)
  const current = { id, jobId, attempt: row.attempts + 1 }
  if (!(await store.beginTry(db, current))) return
  const failure = await send(row, abort, deps)
  if (!failure) return await recordSent(current, row, deps)
  if (failure.permanent || current.attempt >= maxTries) return await giveUp(current, row, failure.reason, deps)
  await tryAgainLater(current, row, failure, deps)
}

/** A reason not to attempt the delivery. The channel's current state counts, not its state when the delivery was created. */
function obstacleOf(row: store.SendingRow): string | undefined {
  if (row.channelConfig === null) return 'The channel was deleted'
  if (row.channelEnabled !== 1) return 'The channel is disabled'
  if (row.channelVerified !== 1) return 'The channel is no longer verified. Test it again.'
  if (row.attempts >= maxTries) return 'Berth stopped during the last attempt'
  return undefined
}

/**
 * Returns null once the receiver has accepted the message. Throws when this worker lost the job: then it must not record the
 * attempt.
 */
async function send(row: store.SendingRow, abort: AbortSignal, deps: DeliverDeps): Promise<DeliveryFailed | null> {
  const own = abortUnlessShutdown(abort)
  try {
    const message = await messageOf(row, deps.locks, deps)
    const channel = { id: row.channelId, config: row.channelConfig as string, secrets: row.channelSecrets }
    const { config, secrets } = openConfig(channel, deps)
    const drivers = { ...deps.drivers, now: () => deps.clock.now() }
    await kindOf(row.channelKind).deliver(message, config, secrets, drivers, own.signal)
    return null
  } catch (error) {
    own.signal.throwIfAborted()
    if (error instanceof DeliveryFailed) return error
    deps.log.error(
      { err: error, deliveryId: row.id, channelKind: row.channelKind },
      'notifications: delivery failed, internal error',
    )
    return new DeliveryFailed('Not sent: internal error in Berth', { permanent: false })
  } finally {
    own.end()
  }
}

/**
 * Ignores an abort for shutdown, so that a delivery in flight can complete. Aborted, it would be sent again by the next process.
 */
function abortUnlessShutdown(abort: AbortSignal): { signal: AbortSignal; end(): void } {
  const own = new AbortController()
  const onAbort = () => {
    if (!(abort.reason instanceof JobAborted && abort.reason.reason === 'shutdown')) own.abort(abort.reason)
  }
  abort.addEventListener('abort', onAbort, { once: true })
  if (abort.aborted) onAbort()
  return { signal: own.signal, end: () => abort.removeEventListener('abort', onAbort) }
}

async function recordSent(current: store.Try, row: store.SendingRow, deps: NotificationsDeps): Promise<void> {
  const { db, signals } = deps.database
  const end = { status: 'sent', sentAt: nowOf(deps), lastError: null } as const
  const isNewestAttempt = await store.endTry(db, current, end)
  if (isNewestAttempt && row.channelKind === 'in_app')
    signals.publish(feedTopic(row.organizationId), { delivered: row.id, userId: row.userId } satisfies FeedSignal)
}

async function giveUp(current: store.Try, row: store.SendingRow, lastError: string, deps: NotificationsDeps): Promise<void> {
  const { log, database } = deps
  const isNewestAttempt = await store.endTry(database.db, current, { status: 'failed', lastError })
  const logFields = { deliveryId: row.id, channelKind: row.channelKind, attempts: current.attempt, reason: lastError }
  if (isNewestAttempt) log.warn(logFields, 'notifications: delivery failed, no attempts left')
}

/** Schedules the next attempt. The next job commits together with the end of this attempt, so there is always exactly one. */
function tryAgainLater(
  current: store.Try,
  row: store.SendingRow,
  failure: DeliveryFailed,
  deps: NotificationsDeps,
): Promise<void> {
  const runAt = new Date(nowOf(deps) + pauseAfter(current.attempt, failure.retryAfterMs))
  return deps.database.transaction(async ({ db, enqueue }) => {
    const next = await enqueue(deliverKind.of(row), { deliveryId: row.id }, { runAt, groupKey: groupOf(row.channelId) })
    await store.endTry(db, current, { status: 'queued', lastError: failure.reason, jobId: next.id })
  })
}

/** Maximum number of attempts; an attempt whose process died counts too. */
export const maxTries = 8

const seconds = 1_000
const minutes = 60 * seconds
const hours = 60 * minutes
/** Pause after the first attempt, the second, …: about half a day in total, longer than most outages of a receiver. */
const pauses = [15 * seconds, 1 * minutes, 5 * minutes, 15 * minutes, 1 * hours, 3 * hours, 8 * hours] as const

/** The pause after attempt `attempt`, plus up to 10 % jitter; never shorter than the receiver's Retry-After. */
export function pauseAfter(attempt: number, retryAfterMs = 0): Millis {
  const pause = pauses[attempt - 1] ?? pauses.at(-1)!
  return Math.round(Math.max(pause * (1 + Math.random() / 10), retryAfterMs))
}
