import { type Insertable, type SqlBool, sql, type Updateable } from 'kysely'
import type { Db } from '../../platform/db/schema.ts'
import type {
  GitDeliveriesTable,
  GitDeliveryRow,
  PullRequestRow,
  PullRequestsTable,
} from '../../platform/db/tables/git-events.ts'
import { previewAges } from '../projects/index.ts'

/** SQL of the git-events module. */

/** Inserts deliveries; returns the keys of the new ones. */
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

/** Marks a delivery as handled and drops its content; the key stays. */
export const markHandled = (db: Db, key: string, now: number) =>
  db.updateTable('gitDeliveries').set({ handledAt: now, delivery: null }).where('key', '=', key).execute()

/** Kind of a row that holds only the hash of a push body. */
export const pushBodyKind = 'push-body'

export async function forgetDeliveries(db: Db, before: number, bodiesBefore: number): Promise<void> {
  await db.deleteFrom('gitDeliveries').where('receivedAt', '<', before).where('kind', '!=', pushBodyKind).execute()
  await db.deleteFrom('gitDeliveries').where('receivedAt', '<', bodiesBefore).execute()
}

/** Later deliveries of the same branch or pull request that are already handled. */
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

/** Whether at least `count` later deliveries of the same branch or pull request are queued for the same organisations. */
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

/** The pull request of a preview environment. */
export const findPullRequestAt = (db: Db, projectId: string, environment: string): Promise<PullRequestRow | undefined> =>
  db
    .selectFrom('pullRequests')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .executeTakeFirst()

/** Newest first, at most 500. */
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

/** The blocked pull request that has waited longest. */
export const nextBlocked = (db: Db, projectId: string): Promise<PullRequestRow | undefined> =>
  db
    .selectFrom('pullRequests')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('state', '=', 'blocked')
    .orderBy('updatedAt')
    .limit(1)
    .executeTakeFirst()

/** Active pull requests without a push for longer than their project keeps previews. */
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
    // The cast is needed: thirty days in milliseconds exceed PostgreSQL's integer.
    .where(sql<SqlBool>`"pullRequests"."updatedAt" + cast("project"."previewsMaxAgeDays" as bigint) * 86400000 < ${now}`)
    .limit(500)
    .execute()
