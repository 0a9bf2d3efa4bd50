import { sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Millis } from '../db/columns.ts'
import { preparedQuery } from '../db/prepared.ts'
import type { Db } from '../db/schema.ts'
import { isUniqueViolation } from '../db/violations.ts'
import { type LeasedRow, leaseEnd } from './lease.ts'
import { isQueued, isRunning } from './statuses.ts'

/** Owners of jobs of one kind: the search begins behind `after` and passes over the busy ones. */
export interface OwnerTurn {
  after: string
  busy: readonly string[]
}

export interface Claim {
  /** Kinds with a free slot. */
  turns: Readonly<Record<string, OwnerTurn>>
  now: Date
  token: string
  leaseMs: number
}

/**
 * The next job that is due, now leased under `token`: of each kind the most urgent job of the owner whose turn it is, and of
 * these the most urgent. Undefined when there is none; 'taken' when another control plane was faster.
 */
export async function claimNext({ db, kind }: Database, claim: Claim): Promise<LeasedRow | 'taken' | undefined> {
  const { token, leaseMs } = claim
  const parameters = { turns: JSON.stringify(claim.turns), now: claim.now.getTime() }
  const next = await nextJob[kind].first(db, parameters)
  if (!next) return undefined
  try {
    const row = await leaseById[kind].first(db, { id: next.id, token, leaseMs })
    return (row as LeasedRow | undefined) ?? 'taken'
  } catch (error) {
    // A job of the same group began in the same moment.
    if (isUniqueViolation(error)) return 'taken'
    throw error
  }
}

type DatabaseKind = Database['kind']

const nextJob: Record<DatabaseKind, ReturnType<typeof nextQuery>> = {
  sqlite: nextQuery('sqlite'),
  postgres: nextQuery('postgres'),
}

/**
 * Asked several times for each job, on SQLite in the event loop: it may neither read nor sort all that waits. Each owner with
 * waiting jobs is found by one step in the index, and so is its most urgent job.
 */
function nextQuery(kind: DatabaseKind) {
  return preparedQuery((db, { turns, now }: { turns: string; now: Millis }) => {
    const free = freeKinds(kind, turns)
    const isDue = db
      .selectFrom('jobs as due')
      .select('due.id')
      .where('due.status', '=', isQueued)
      .where('due.kind', '=', freeKind)
      .where('due.runAt', '<=', now)
    const following = nextOfKind(kind, db, now, sql`> ${lastServed}`)
    const fromTheFirst = nextOfKind(kind, db, now, sql`>= ''`)
    return db
      .selectFrom(free)
      .innerJoin('jobs as first', (join) => join.on('first.id', '=', sql<string>`coalesce(${following}, ${fromTheFirst})`))
      .select('first.id')
      .where(({ exists }) => exists(isDue))
      .orderBy('first.priority', 'desc')
      .orderBy('first.runAt')
      .orderBy('first.sequence')
      .limit(1)
  })
}

const freeKind = sql<string>`free.key`
const lastServed = sql<string>`free.value ->> 'after'`

const freeKinds = (kind: DatabaseKind, turns: string) =>
  kind === 'sqlite'
    ? sql<{ key: string; value: string }>`json_each(${turns})`.as('free')
    : sql<{ key: string; value: string }>`jsonb_each(cast(${turns} as jsonb))`.as('free')

const busyOwners = {
  sqlite: sql`(select busy.value from json_each(free.value, '$.busy') as busy)`,
  postgres: sql`(select jsonb_array_elements_text(free.value -> 'busy'))`,
}

/** The id of the next job of the kind, of the first owner behind `from` that has one which may begin. */
function nextOfKind(kind: DatabaseKind, db: Db, now: Millis, from: ReturnType<typeof sql>) {
  const owner = sql`select min(waiting."ownerId") from jobs as waiting where waiting.status = ${isQueued} and waiting.kind = ${freeKind}`
  return sql<string>`(
    with recursive owners(id) as (
      ${owner} and waiting."ownerId" ${from}
      union all
      select (${owner} and waiting."ownerId" > owners.id) from owners where owners.id is not null
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
