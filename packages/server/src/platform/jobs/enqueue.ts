import type { Millis } from '../db/columns.ts'
import { newId } from '../db/ids.ts'
import type { Db } from '../db/schema.ts'
import type { JobKind, JobOwner, SharedKind } from './declare.ts'
import { ownerIdOf } from './owners.ts'
import { isActive } from './statuses.ts'

export interface EnqueueOptions {
  /** Not before this; default: at once. */
  runAt?: Date
  /** At most one queued or running job has this key; where there is one, it is returned and nothing is added, but a waiting one takes over a higher priority. */
  uniqueKey?: string
  /** At most one job of a group runs at a time, over all control planes. */
  groupKey?: string
  /** At most so many jobs of a pool run at a time; the others wait and are in no other job's way. */
  pool?: { key: string; limit: number }
  /** Higher goes first. Default 0. */
  priority?: number
  scheduledFor?: Date
}

export interface Enqueued {
  id: string
  /** False: a job with the same uniqueKey is already there, and this is its id. */
  isNew: boolean
  /** The job that is already there runs, and may be past the point where it would see why it was enqueued again. */
  isRunning: boolean
}

/** Tells the workers that something may be due that was not before, or that a running job is to be aborted. */
export const jobsTopic = 'jobs'
export type JobsSignal = { due: true } | { schedules: true } | { cancel: string }

/** Writes the row. Use `jobs.enqueue` or a transaction's `enqueue`, which also wake the workers. */
export async function insertJob<Payload>(
  db: Db,
  now: Date,
  { kind, owner }: JobKind<Payload>,
  payload: NoInfer<Payload>,
  options: EnqueueOptions = {},
): Promise<Enqueued> {
  const id = newId('job')
  // The job that holds the key may end between the two statements; then there is room for this one.
  for (let attempt = 1; ; attempt++) {
    const inserted = await db
      .insertInto('jobs')
      .values(newRow(id, now, { kind, owner }, payload, options))
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst()
    if (inserted) return { id, isNew: true, isRunning: false }
    const { uniqueKey } = options
    const existing = uniqueKey === undefined ? undefined : await findActive(db, uniqueKey)
    if (existing) {
      if (existing.priority < (options.priority ?? 0)) await raise(db, existing.id, options.priority ?? 0)
      return { id: existing.id, isNew: false, isRunning: existing.status === 'running' }
    }
    if (attempt === 10)
      throw new Error(`the job ${kind} could not be enqueued: its key ${uniqueKey} was repeatedly taken by other jobs`)
  }
}

/** One of many jobs of a kind; a key is for `insertJob`, which can tell who holds it. */
export type BulkJob<Payload> = Pick<EnqueueOptions, 'runAt' | 'groupKey' | 'priority'> & { payload: Payload; owner: JobOwner }

/** Enqueues them within the transaction, in a few statements and with one call to the workers; the ids are in the same order. */
export async function enqueueAll<Payload>(
  { db, signal }: { db: Db; signal(topic: string, event: object): void },
  now: Date,
  { kind }: SharedKind<Payload>,
  jobs: readonly BulkJob<NoInfer<Payload>>[],
): Promise<string[]> {
  const rows = jobs.map(({ payload, owner, ...options }) => newRow(newId('job'), now, { kind, owner }, payload, options))
  for (let at = 0; at < rows.length; at += rowsAtOnce) {
    await db
      .insertInto('jobs')
      .values(rows.slice(at, at + rowsAtOnce))
      .execute()
  }
  if (rows.length > 0) signal(jobsTopic, { due: true } satisfies JobsSignal)
  return rows.map(({ id }) => id)
}

/** Building a statement keeps the process from all else: 100 rows take about a millisecond. */
const rowsAtOnce = 100

const findActive = (db: Db, uniqueKey: string) =>
  db
    .selectFrom('jobs')
    .select(['id', 'priority', 'status'])
    .where('uniqueKey', '=', uniqueKey)
    .where('status', 'in', isActive)
    .executeTakeFirst()

/** One that runs already has no use for it. */
const raise = (db: Db, id: string, priority: number) =>
  db.updateTable('jobs').set({ priority }).where('id', '=', id).where('status', '=', 'queued').execute()

function newRow(id: string, now: Date, { kind, owner }: JobKind<unknown>, payload: unknown, options: EnqueueOptions) {
  const runAt = options.runAt ?? now
  return {
    id,
    kind,
    payload: JSON.stringify(payload ?? null),
    status: 'queued' as const,
    priority: options.priority ?? 0,
    sequence: nextSequence(now),
    runAt: runAt.getTime(),
    scheduledFor: options.scheduledFor?.getTime() ?? null,
    attempts: 0,
    ownerId: ownerIdOf(owner),
    uniqueKey: options.uniqueKey ?? null,
    groupKey: options.groupKey ?? null,
    poolKey: options.pool?.key ?? null,
    poolLimit: options.pool?.limit ?? null,
    leaseToken: null,
    leaseUntil: null,
    cancelRequested: 0 as const,
    failure: null,
    lastError: null,
    createdAt: now.getTime(),
    finishedAt: null,
  }
}

let lastSequence = 0

/** Microseconds, made strictly growing: jobs that one process enqueues in one millisecond keep their order. */
function nextSequence(now: Date): Millis {
  lastSequence = Math.max(lastSequence + 1, now.getTime() * 1000)
  return lastSequence
}
