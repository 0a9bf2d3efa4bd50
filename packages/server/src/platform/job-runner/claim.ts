import { sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Millis } from '../db/columns.ts'
import { isAmong } from '../db/id-lists.ts'
import { preparedQuery } from '../db/prepared.ts'
import type { Db } from '../db/schema.ts'
import { isUniqueViolation } from '../db/violations.ts'
import { isQueued, isRunning } from '../jobs/statuses.ts'
import { type LeasedRow, leaseEnd } from './lease.ts'

/** The order of owners for one kind: the search starts after the owner `after` and skips the busy owners. */
export interface OwnerOrder {
  after: string
  busy: readonly string[]
}

export interface Claim {
  /** Kinds with a free slot. */
  owners: Readonly<Record<string, OwnerOrder>>
  now: Date
  token: string
  leaseMs: number
}

/**
 * Leases the next due job under `token`. Of each kind it considers the most urgent job of the next owner, and takes the most urgent
 * of these. Undefined if no job is due; 'taken' if another control plane was faster.
 */
export async function claimNext({ db, kind }: Database, claim: Claim): Promise<LeasedRow | 'taken' | undefined> {
  const { token, leaseMs } = claim
  const parameters = { owners: JSON.stringify(claim.owners), now: claim.now.getTime() }
  const next = await nextJob[kind].first(db, parameters)
  if (!next) return undefined
  try {
    const row = await leaseById[kind].first(db, { id: next.id, token, leaseMs })
    return (row as LeasedRow | undefined) ?? 'taken'
  } catch (error) {
    // A job of the same group was started at the same moment.
    if (isUniqueViolation(error)) return 'taken'
    throw error
  }
}

type DatabaseKind = Database['kind']

const nextJob: Record<DatabaseKind, ReturnType<typeof nextQuery>> = {
  sqlite: nextQuery('sqlite'),
  postgres: nextQuery('postgres'),
}

/** Kinds with a job that is due. The query reads one or two index entries per kind with queued jobs, so it may run often. */
export async function dueKinds({ db }: Pick<Database, 'db'>, now: Date): Promise<ReadonlySet<string>> {
  const rows = await queryDueKinds.all(db, { now: now.getTime() })
  return new Set(rows.map(({ kind }) => kind))
}

const queryDueKinds = preparedQuery((db, { now }: { now: Millis }) => {
  const firstKind = (condition: ReturnType<typeof sql>) =>
    sql`(select kind from jobs where status = ${isQueued} ${condition} order by kind limit 1)`
  const kinds = sql<{ kind: string | null }>`(
    with recursive kinds(kind) as (
      select ${firstKind(sql``)}
      union all
      select ${firstKind(sql`and kind > kinds.kind`)} from kinds where kinds.kind is not null
    )
    select kind from kinds
  )`.as('waiting')
  const due = db
    .selectFrom('jobs as due')
    .select('due.id')
    .where('due.status', '=', isQueued)
    .where('due.kind', '=', sql<string>`waiting.kind`)
    .where('due.runAt', '<=', now)
    .orderBy('due.runAt')
    .limit(1)
  return db
    .selectFrom(kinds)
    .select('waiting.kind')
    .where(({ eb }) => eb(due, 'is not', null))
    .$narrowType<{ kind: string }>()
})

/**
 * Runs several times per job, on SQLite in the event loop, so it must not read or sort all queued jobs. Each owner with queued jobs
 * and its most urgent job are found by one index look-up each. PostgreSQL plans with statistics from before a burst of jobs: limits
 * in the subqueries keep it from reading the whole table.
 */
function nextQuery(kind: DatabaseKind) {
  return preparedQuery((db, { owners, now }: { owners: string; now: Millis }) => {
    const afterLastServed = nextOfKind(kind, db, now, sql`> ${lastServed}`)
    const fromFirstOwner = nextOfKind(kind, db, now, sql`>= ''`)
    const nextOfKinds = db
      .selectFrom(freeKinds(kind, owners))
      .select(sql<string>`coalesce(${afterLastServed}, ${fromFirstOwner})`.as('id'))
    return db
      .selectFrom('jobs as first')
      .select('first.id')
      .where(isAmong(db, 'first.id', nextOfKinds))
      .orderBy('first.priority', 'desc')
      .orderBy('first.runAt')
      .orderBy('first.sequence')
      .limit(1)
  })
}

const freeKind = sql<string>`free.key`
const lastServed = sql<string>`free.value ->> 'after'`

const freeKinds = (kind: DatabaseKind, owners: string) =>
  kind === 'sqlite'
    ? sql<{ key: string; value: string }>`json_each(${owners})`.as('free')
    : sql<{ key: string; value: string }>`jsonb_each(cast(${owners} as jsonb))`.as('free')

const busyOwners = {
  sqlite: sql`(select busy.value from json_each(free.value, '$.busy') as busy)`,
  postgres: sql`(select jsonb_array_elements_text(free.value -> 'busy'))`,
}

/** The id of the next job of the kind: of the first owner after `from` that has a job that may start. */
function nextOfKind(kind: DatabaseKind, db: Db, now: Millis, from: ReturnType<typeof sql>) {
  const owner = (condition: ReturnType<typeof sql>) => sql`(
    select waiting."ownerId" from jobs as waiting
    where waiting.status = ${isQueued} and waiting.kind = ${freeKind} and waiting."ownerId" ${condition}
    order by waiting."ownerId" limit 1
  )`
  return sql<string>`(
    with recursive owners(id) as (
      select ${owner(from)}
      union all
      select ${owner(sql`> owners.id`)} from owners where owners.id is not null
    )
    select chosen.id from owners join jobs as chosen on chosen.id = (${mostUrgent(db, now)})
    where owners.id not in ${busyOwners[kind]} limit 1
  )`
}

function mostUrgent(db: Db, now: Millis) {
  const running = db.selectFrom('jobs as other').select('other.id').where('other.status', '=', isRunning)
  return (
    db
      .selectFrom('jobs as next')
      .select('next.id')
      .where('next.status', '=', isQueued)
      .where('next.kind', '=', freeKind)
      .where('next.ownerId', '=', sql<string>`owners.id`)
      // The `+` keeps SQLite from using an index for this condition: the index for the order is used.
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

const leaseById: Record<DatabaseKind, ReturnType<typeof leaseQuery>> = {
  sqlite: leaseQuery('sqlite'),
  postgres: leaseQuery('postgres'),
}

function leaseQuery(kind: DatabaseKind) {
  return preparedQuery((db, { id, token, leaseMs }: { id: string; token: string; leaseMs: Millis }) =>
    db
      .updateTable('jobs')
      .set(({ eb }) => ({
        status: 'running',
        attempts: eb('attempts', '+', 1),
        leaseToken: token,
        leaseUntil: leaseEnd(kind, leaseMs),
      }))
      .where('id', '=', id)
      .where('status', '=', isQueued)
      .returningAll(),
  )
}
