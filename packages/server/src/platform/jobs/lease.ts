import { type Expression, type RawBuilder, type Selectable, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Millis } from '../db/columns.ts'
import { databaseNow } from '../db/now.ts'
import { preparedQuery } from '../db/prepared.ts'
import type { Db } from '../db/schema.ts'
import type { JobsTable } from '../db/tables/jobs.ts'
import { isUniqueViolation } from '../db/violations.ts'
import { isQueued, isRunning } from './statuses.ts'

export type JobRow = Selectable<JobsTable>
export type LeasedRow = JobRow & { leaseToken: string }

export const diedMessage = 'the process that ran it ended before the job did'

interface Claim {
  kinds: readonly string[]
  now: Date
  token: string
  leaseMs: number
}

/** The most urgent job that is due, now leased under `token`; undefined when there is none. */
export async function claimNext({ db, kind }: Database, { kinds, now, token, leaseMs }: Claim): Promise<LeasedRow | undefined> {
  const claim = { now: now.getTime(), token, leaseMs }
  const row =
    kind === 'sqlite'
      ? await leaseOnSqlite.first(db, { ...claim, kinds: JSON.stringify(kinds) })
      : await lease(db, firstOfAll(db, kinds, claim.now), leaseEnd(kind, leaseMs), token).executeTakeFirst()
  return row as LeasedRow | undefined
}

/** Asked several times for each job, in the event loop: building the statement took longer than SQLite's answer. */
const leaseOnSqlite = preparedQuery(
  (db, { kinds, now, token, leaseMs }: { kinds: string; now: Millis; token: string; leaseMs: Millis }) =>
    lease(db, firstOfEachKind(db, kinds, now), leaseEnd('sqlite', leaseMs), token),
)

function lease(db: Db, next: Expression<string>, leaseUntil: RawBuilder<Millis>, leaseToken: string) {
  return db
    .updateTable('jobs')
    .set(({ eb }) => ({ status: 'running', attempts: eb('attempts', '+', 1), leaseToken, leaseUntil }))
    .where('id', '=', next)
    .where('status', '=', isQueued)
    .returningAll()
}

/** Two control planes that look at once lock different rows. */
function firstOfAll(db: Db, kinds: readonly string[], now: Millis) {
  return mostUrgent(db, now).where('next.kind', 'in', kinds).forUpdate().skipLocked().$asScalar()
}

/**
 * SQLite would read and sort everything that waits, in the event loop, for each job that is claimed: it is asked for the first of
 * each kind, which stands first in an index.
 */
function firstOfEachKind(db: Db, kinds: string, now: Millis) {
  const free = sql<{ value: string }>`json_each(${kinds})`.as('free')
  const ofKind = mostUrgent(db, now).where('next.kind', '=', sql.ref<string>('free.value'))
  return db
    .selectFrom(free)
    .innerJoin('jobs as first', (join) => join.on('first.id', '=', ofKind))
    .select('first.id')
    .orderBy('first.priority', 'desc')
    .orderBy('first.runAt')
    .orderBy('first.sequence')
    .limit(1)
    .$asScalar()
}

function mostUrgent(db: Db, now: Millis) {
  const running = db.selectFrom('jobs as other').select('other.id').where('other.status', '=', isRunning)
  return (
    db
      .selectFrom('jobs as next')
      .select('next.id')
      .where('next.status', '=', isQueued)
      // With a sign before it, it chooses no index: the order does.
      .where(sql<Millis>`+${sql.ref('next.runAt')}`, '<=', now)
      .where(({ or, eb, not, exists, ref }) =>
        or([eb('next.groupKey', 'is', null), not(exists(running.where('other.groupKey', '=', ref('next.groupKey'))))]),
      )
      .where(({ or, eb, ref, selectFrom }) => {
        const inPool = selectFrom('jobs as same')
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .where('same.status', '=', isRunning)
          .where('same.poolKey', '=', ref('next.poolKey'))
        return or([eb('next.poolKey', 'is', null), eb(inPool, '<', ref('next.poolLimit'))])
      })
      .orderBy('next.priority', 'desc')
      .orderBy('next.runAt')
      .orderBy('next.sequence')
      .limit(1)
  )
}

/** Another control plane took a job of the same group in the same moment; the next try sees it. */
export function isGroupTaken(error: unknown): boolean {
  return isUniqueViolation(error)
}

/** Extends the leases and tells which of them still stand, and which of those are to be cancelled. */
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
 * Puts jobs whose process died back into the queue; the attempt stays counted, so a job that kills its process cannot
 * do so for ever. `whose: 'all'` is for the one process that owns a SQLite folder, before it runs anything. Leases in
 * `except` are held by living attempts of this process, even where a heartbeat came late.
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
      lastError: diedMessage,
      ...noLease,
    }))
    .where('status', '=', isRunning)
    .$if(whose === 'expired', (query) => query.where('leaseUntil', '<', databaseNow(kind)))
    .$if(except.length > 0, (query) => query.where('leaseToken', 'not in', except))
    .returning('id')
    .execute()
  return rows.length
}

/** How long the lease lasts that runs out first, by the database's clock; undefined when nobody else holds one. */
export async function untilNextExpiry({ db, kind }: Database, except: readonly string[]): Promise<Millis | undefined> {
  const row = await db
    .selectFrom('jobs')
    .select((eb) => [eb.fn.min('leaseUntil').as('end'), databaseNow(kind).as('now')])
    .where('status', '=', isRunning)
    .$if(except.length > 0, (query) => query.where('leaseToken', 'not in', except))
    .executeTakeFirst()
  return row?.end == null ? undefined : row.end - row.now
}

/** What becomes of a job after an attempt. */
export type Ending =
  | { as: 'succeeded' }
  | { as: 'failed'; error: string }
  | { as: 'cancelled'; error: string | null }
  /** Again later. `failure`: the attempts are used up, and what comes is `onFailed`. */
  | { as: 'retry'; runAt: Date; error: string; failure?: string | null }
  /** Not its fault: the attempt is not counted. */
  | { as: 'handed back' }

/** False: the lease was lost, and somebody else decides over the job. */
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

/** From here on only `onFailed` runs, whoever runs it. */
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

function leaseEnd(kind: Database['kind'], leaseMs: number): RawBuilder<Millis> {
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
      }
    case 'handed back':
      return { status: 'queued' as const, attempts: row.attempts - 1 }
  }
}
