import { type Insertable, type SqlBool, sql, type Updateable } from 'kysely'
import type { Db } from '../../platform/db/schema.ts'
import type {
  GitDeliveriesTable,
  GitDeliveryRow,
  PullRequestRow,
  PullRequestsTable,
} from '../../platform/db/tables/git-events.ts'
import { previewAges } from '../projects/index.ts'

/** All SQL of this module. */

/** Keys of those that were not here before. */
export async function insertDeliveries(db: Db, rows: readonly Insertable<GitDeliveriesTable>[]): Promise<Set<string>> {
  if (rows.length === 0) return new Set()
  const inserted = await db
    .insertInto('gitDeliveries')
    .values(rows)
    .onConflict((conflict) => conflict.column('key').doNothing())
    .returning('key')
    .execute()
  return new Set(inserted.map(({ key }) => key))
}

export const findDelivery = (db: Db, key: string): Promise<GitDeliveryRow | undefined> =>
  db.selectFrom('gitDeliveries').selectAll().where('key', '=', key).executeTakeFirst()

/** From then on only its key is kept. */
export const markHandled = (db: Db, key: string, now: number) =>
  db.updateTable('gitDeliveries').set({ handledAt: now, delivery: null }).where('key', '=', key).execute()

/** The kind of a row that only remembers the words of a push. */
export const pushBodyKind = 'push-body'

export async function forgetDeliveries(db: Db, before: number, bodiesBefore: number): Promise<void> {
  await db.deleteFrom('gitDeliveries').where('receivedAt', '<', before).where('kind', '!=', pushBodyKind).execute()
  await db.deleteFrom('gitDeliveries').where('receivedAt', '<', bodiesBefore).execute()
}

/** What was reported of the same after it, and acted on already. */
export const listNewerHandled = (db: Db, { subject, receivedAt }: GitDeliveryRow): Promise<GitDeliveryRow[]> =>
  db
    .selectFrom('gitDeliveries')
    .selectAll()
    .where('subject', '=', subject)
    .where('receivedAt', '>', receivedAt)
    .where('handledAt', 'is not', null)
    .orderBy('receivedAt', 'desc')
    .limit(50)
    .execute()

/** Whether so many were reported of the same after it, for the same ones, that wait as well. */
export async function hasNewerWaiting(db: Db, { subject, receivedAt, organizations }: GitDeliveryRow, count: number) {
  const newer = await db
    .selectFrom('gitDeliveries')
    .select('key')
    .where('subject', '=', subject)
    .where('receivedAt', '>', receivedAt)
    .where('organizations', '=', organizations)
    .where('handledAt', 'is', null)
    .limit(count)
    .execute()
  return newer.length === count
}

export const findPullRequest = (db: Db, projectId: string, number: number): Promise<PullRequestRow | undefined> =>
  db.selectFrom('pullRequests').selectAll().where('projectId', '=', projectId).where('number', '=', number).executeTakeFirst()

/** Of an environment that a pull request has made. */
export const findPullRequestAt = (db: Db, projectId: string, environment: string): Promise<PullRequestRow | undefined> =>
  db
    .selectFrom('pullRequests')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .executeTakeFirst()

/** Open ones first, then the newest; more are not shown. */
export const listPullRequests = (db: Db, projectId: string): Promise<PullRequestRow[]> =>
  db.selectFrom('pullRequests').selectAll().where('projectId', '=', projectId).orderBy('number', 'desc').limit(500).execute()

export const putPullRequest = (db: Db, row: Insertable<PullRequestsTable>) =>
  db
    .insertInto('pullRequests')
    .values(row)
    .onConflict((conflict) => conflict.columns(['projectId', 'number']).doUpdateSet(row))
    .execute()

export const changePullRequest = (
  db: Db,
  { projectId, number }: Pick<PullRequestRow, 'projectId' | 'number'>,
  changes: Updateable<PullRequestsTable>,
) => db.updateTable('pullRequests').set(changes).where('projectId', '=', projectId).where('number', '=', number).execute()

/** The one that has waited longest for room. */
export const nextBlocked = (db: Db, projectId: string): Promise<PullRequestRow | undefined> =>
  db
    .selectFrom('pullRequests')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('state', '=', 'blocked')
    .orderBy('updatedAt')
    .limit(1)
    .executeTakeFirst()

/** Whose project keeps previews for a shorter time than nobody has pushed to them. */
export const listExpired = (
  db: Db,
  now: number,
  only?: Pick<PullRequestRow, 'projectId' | 'number'>,
): Promise<PullRequestRow[]> =>
  db
    .selectFrom('pullRequests')
    .innerJoin(previewAges(db).as('project'), 'project.id', 'pullRequests.projectId')
    .selectAll('pullRequests')
    .where('pullRequests.state', '=', 'active')
    .$if(only !== undefined, (query) =>
      query.where('pullRequests.projectId', '=', only!.projectId).where('pullRequests.number', '=', only!.number),
    )
    .where('project.previewsMaxAgeDays', 'is not', null)
    // A day has 86,400,000 ms; thirty of them are more than PostgreSQL's integer holds.
    .where(sql<SqlBool>`"pullRequests"."updatedAt" + cast("project"."previewsMaxAgeDays" as bigint) * 86400000 < ${now}`)
    .limit(500)
    .execute()
