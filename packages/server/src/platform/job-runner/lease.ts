import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Millis } from '../db/columns.ts'
import { databaseNow } from '../db/now.ts'
import type { JobsTable } from '../db/tables/jobs.ts'
import { isRunning } from '../jobs/statuses.ts'

export type JobRow = Selectable<JobsTable>
export type LeasedRow = JobRow & { leaseToken: string }

export const processDiedMessage = 'the process exited while the job was running'

/** Extends the leases; returns those that are still held, and whether their jobs are to be cancelled. */
export function renewLeases(
  { db, kind }: Database,
  tokens: readonly string[],
  leaseMs: number,
): Promise<{ leaseToken: string | null; cancelRequested: 0 | 1 }[]> {
  return db
    .updateTable('jobs')
    .set({ leaseUntil: leaseEnd(kind, leaseMs) })
    .where('leaseToken', 'in', tokens)
    .where('status', '=', isRunning)
    .returning(['leaseToken', 'cancelRequested'])
    .execute()
}

/**
 * Requeues jobs whose process died; the attempt stays counted, so a job that kills its process is not retried for ever. `whose:
 * 'all'` is for the one process that owns a SQLite folder, before it runs any job. Leases in `except` are held by live attempts of
 * this process, even if a heartbeat came late.
 */
export async function recoverDead(
  { db, kind }: Database,
  which: { whose: 'all' | 'expired'; except: readonly string[]; now: Date },
): Promise<number> {
  const { whose, except, now } = which
  const rows = await db
    .updateTable('jobs')
    .set(({ eb }) => ({
      status: eb.case().when('cancelRequested', '=', 1).then('cancelled').else('queued').end().$castTo<'cancelled' | 'queued'>(),
      finishedAt: eb.case().when('cancelRequested', '=', 1).then(now.getTime()).else(null).end(),
      lastError: processDiedMessage,
      ...noLease,
    }))
    .where('status', '=', isRunning)
    .$if(whose === 'expired', (query) => query.where('leaseUntil', '<', databaseNow(kind)))
    .$if(except.length > 0, (query) => query.where('leaseToken', 'not in', except))
    .returning('id')
    .execute()
  return rows.length
}

/** Time until the first lease of another process expires, by the database's clock; undefined if no other process holds one. */
export async function untilNextExpiry({ db, kind }: Database, except: readonly string[]): Promise<Millis | undefined> {
  const row = await db
    .selectFrom('jobs')
    .select((eb) => [eb.fn.min('leaseUntil').as('end'), databaseNow(kind).as('now')])
    .where('status', '=', isRunning)
    .$if(except.length > 0, (query) => query.where('leaseToken', 'not in', except))
    .executeTakeFirst()
  return row?.end == null ? undefined : row.end - row.now
}

/** The result of an attempt, which decides what happens to the job. */
export type Ending =
  | { as: 'succeeded' }
  | { as: 'failed'; error: string }
  | { as: 'cancelled'; error: string | null }
  /** Retried later. `failure`: the attempts are used up, and only `onFailed` runs. `isUncounted`: the attempt is not counted. */
  | { as: 'retry'; runAt: Date; error: string; failure?: string | null; isUncounted?: true }
  /** The attempt is not counted, since the job did not cause its end. */
  | { as: 'requeued' }

/** Returns false if the lease was lost: another process owns the job now. */
export async function endAttempt({ db }: Database, row: LeasedRow, ending: Ending, now: Date): Promise<boolean> {
  const ended = await db
    .updateTable('jobs')
    .set({ ...noLease, ...changesOf(ending, row, now) })
    .where('id', '=', row.id)
    .where('leaseToken', '=', row.leaseToken)
    .where('status', '=', isRunning)
    .returning('id')
    .executeTakeFirst()
  return ended !== undefined
}

/** Marks the job as failed: from then on any process that claims it only runs `onFailed`. */
export async function recordFailure({ db }: Database, row: LeasedRow, failure: string): Promise<boolean> {
  const marked = await db
    .updateTable('jobs')
    .set({ failure, lastError: failure })
    .where('id', '=', row.id)
    .where('leaseToken', '=', row.leaseToken)
    .where('status', '=', isRunning)
    .returning('id')
    .executeTakeFirst()
  return marked !== undefined
}

const noLease = { leaseToken: null, leaseUntil: null }

export function leaseEnd(kind: Database['kind'], leaseMs: number): RawBuilder<Millis> {
  return sql<Millis>`${databaseNow(kind)} + ${leaseMs}`
}

function changesOf(ending: Ending, row: LeasedRow, now: Date) {
  switch (ending.as) {
    case 'succeeded':
      return { status: 'succeeded' as const, finishedAt: now.getTime(), lastError: null }
    case 'failed':
    case 'cancelled':
      return { status: ending.as, finishedAt: now.getTime(), lastError: ending.error }
    case 'retry':
      return {
        status: 'queued' as const,
        runAt: ending.runAt.getTime(),
        lastError: ending.error,
        failure: ending.failure ?? row.failure,
        ...(ending.isUncounted ? { attempts: row.attempts - 1 } : {}),
      }
    case 'requeued':
      return { status: 'queued' as const, attempts: row.attempts - 1 }
  }
}
