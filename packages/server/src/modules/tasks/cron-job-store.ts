import type { Insertable, Updateable } from 'kysely'
import { page } from '../../platform/db/pages.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { CronJobRow, CronJobsTable } from '../../platform/db/tables/tasks.ts'

/** SQL of scheduled tasks. */

export const listCronJobs = (db: Db, projectId: string, { limit = 100, cursor }: { limit?: number; cursor?: string }) =>
  page(db.selectFrom('cronJobs').selectAll().where('projectId', '=', projectId), {
    limit,
    cursor,
    by: ['createdAt', 'id'],
    direction: 'asc',
  })

/** All tasks of a project, or of one of its environments. */
export const allCronJobs = (db: Db, projectId: string, environment?: string): Promise<CronJobRow[]> => {
  const query = db.selectFrom('cronJobs').selectAll().where('projectId', '=', projectId).orderBy('createdAt')
  return (environment === undefined ? query : query.where('environment', '=', environment)).execute()
}

export const findCronJob = (db: Db, id: string): Promise<CronJobRow | undefined> =>
  db.selectFrom('cronJobs').selectAll().where('id', '=', id).executeTakeFirst()

export const insertCronJob = (db: Db, row: Insertable<CronJobsTable>): Promise<CronJobRow> =>
  db.insertInto('cronJobs').values(row).returningAll().executeTakeFirstOrThrow()

export const updateCronJob = (db: Db, id: string, changes: Updateable<CronJobsTable>): Promise<CronJobRow | undefined> =>
  db.updateTable('cronJobs').set(changes).where('id', '=', id).returningAll().executeTakeFirst()

/** Runs are deleted with their task. */
export const deleteCronJob = (db: Db, id: string) => db.deleteFrom('cronJobs').where('id', '=', id).execute()
