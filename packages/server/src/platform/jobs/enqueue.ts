import type { Millis } from '../db/columns.ts'
import { newId } from '../db/ids.ts'
import type { Db } from '../db/schema.ts'
import type { JobKind, JobOwner, SharedKind } from './declare.ts'
import { ownerIdOf } from './owners.ts'
import { isActive } from './statuses.ts'

export interface EnqueueOptions {
  /** Earliest start; default: immediately. */
  runAt?: Date
  /**
   * Unique among queued and running jobs. If a job with this key exists, it is returned and no job is added; if it is queued, its
   * priority is raised to this one's.
   */
  uniqueKey?: string
  /** Jobs of a group run one at a time, across all control planes. */
  groupKey?: string
  /** Maximum number of jobs of a pool that run at once; waiting jobs of a pool do not block other jobs. */
  pool?: { key: string; limit: number }
  /** Higher runs first. Default 0. */
  priority?: number
  scheduledFor?: Date
}

export interface Enqueued {
  id: string
  /** False: a job with the same uniqueKey exists, and this is its id. */
  isNew: boolean
  /** The existing job is running, and may be past the point where it would notice the reason for the new request. */
  isRunning: boolean
  /** When the job with this id was requested. */
  createdAt: number
}

/** Tells the workers that a job or schedule may have become due, or that a running job is to be aborted. */
export const jobsTopic = 'jobs'
export type JobsSignal = { due: true } | { schedules: true } | { cancel: string }

/** Inserts the row. Use `jobs.enqueue` or a transaction's `enqueue`, which also wake the workers. */
export async function insertJob<Payload>(
  db: Db,
  now: Date,
  { kind, owner }: JobKind<Payload>,
  payload: NoInfer<Payload>,
  options: EnqueueOptions = {},
): Promise<Enqueued> {
  const id = newId('job')
  // The job that holds the key may end between the two statements; then the next insert succeeds.
  for (let attempt = 1; ; attempt++) {
    const inserted = await db
      .insertInto('jobs')
      .values(newRow(id, now, { kind, owner }, payload, options))
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst()
    if (inserted) return { id, isNew: true, isRunning: false, createdAt: now.getTime() }
    const { uniqueKey } = options
    const existing = uniqueKey === undefined ? undefined : await findActive(db, uniqueKey)
    if (existing) {
      if (existing.priority < (options.priority ?? 0)) await raisePriority(db, existing.id, options.priority ?? 0)
      return { id: existing.id, isNew: false, isRunning: existing.status === 'running', createdAt: existing.createdAt }
    }
    if (attempt === 10)
      throw new Error(`the job ${kind} could not be enqueued: its key ${uniqueKey} was repeatedly taken by other jobs`)
  }
}

/** A job for `enqueueAll`. It has no unique key: only `insertJob` can return the job that holds a key. */
export type BulkJob<Payload> = Pick<EnqueueOptions, 'runAt' | 'groupKey' | 'priority'> & { payload: Payload; owner: JobOwner }

/** Inserts the jobs within the transaction, in a few statements, and wakes the workers once; the ids are in the same order. */
export async function enqueueAll<Payload>(
  { db, signal }: { db: Db; signal(topic: string, event: object): void },
  now: Date,
  { kind }: SharedKind<Payload>,
  jobs: readonly BulkJob<NoInfer<Payload>>[],
): Promise<string[]> {
  const rows = jobs.map(({ payload, owner, ...options }) => newRow(newId('job'), now, { kind, owner }, payload, options))
  for (let at = 0; at < rows.length; at += rowsPerStatement) {
    await db
      .insertInto('jobs')
      .values(rows.slice(at, at + rowsPerStatement))
      .execute()
  }
  if (rows.length > 0) signal(jobsTopic, { due: true } satisfies JobsSignal)
  return rows.map(({ id }) => id)
}

/** Building a statement blocks the event loop: 100 rows take about a millisecond. */
const rowsPerStatement = 100

const findActive = (db: Db, uniqueKey: string) =>
  db
    .selectFrom('jobs')
    .select(['id', 'priority', 'status', 'createdAt'])
    .where('uniqueKey', '=', uniqueKey)
    .where('status', 'in', isActive)
    .executeTakeFirst()

/** Only a queued job is changed: priority has no effect on a running one. */
const raisePriority = (db: Db, id: string, priority: number) =>
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

/** Microseconds, made strictly increasing: jobs that one process enqueues in one millisecond keep their order. */
function nextSequence(now: Date): Millis {
  lastSequence = Math.max(lastSequence + 1, now.getTime() * 1000)
  return lastSequence
}
