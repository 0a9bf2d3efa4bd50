import { type CronRunStatus, type CronRunsQuery, cronRunTransitions, limits, sourcesOf } from '@berth/contract'
import type { Insertable, Updateable } from 'kysely'
import { page } from '../../platform/db/pages.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { CronRunRow, CronRunsTable } from '../../platform/db/tables/tasks.ts'
import { projectsOf } from '../projects/index.ts'

/** SQL of runs of scheduled tasks. The status changes only here. */

const unfinished = ['queued', 'running'] as const satisfies readonly CronRunStatus[]

export const findRun = (db: Db, id: string): Promise<CronRunRow | undefined> =>
  db.selectFrom('cronRuns').selectAll().where('id', '=', id).executeTakeFirst()

export const findRunOf = (db: Db, organizationId: string, id: string): Promise<CronRunRow | undefined> =>
  db
    .selectFrom('cronRuns')
    .selectAll()
    .where('id', '=', id)
    .where('projectId', 'in', projectsOf(db, organizationId))
    .executeTakeFirst()

export function listRuns(db: Db, cronJobId: string, { limit = 100, cursor, status }: CronRunsQuery) {
  const query = db.selectFrom('cronRuns').selectAll().where('cronJobId', '=', cronJobId)
  return page(status === undefined ? query : query.where('status', '=', status), {
    limit,
    cursor,
    by: ['createdAt', 'id'],
    direction: 'desc',
  })
}

/** The newest run of each task. */
export async function lastRuns(db: Db, cronJobIds: readonly string[]): Promise<ReadonlyMap<string, CronRunRow>> {
  if (cronJobIds.length === 0) return new Map()
  const newest = db
    .selectFrom('cronRuns')
    .select((eb) => [
      'id',
      eb.fn
        .agg<number>('row_number')
        .over((over) => over.partitionBy('cronJobId').orderBy('createdAt', 'desc').orderBy('id', 'desc'))
        .as('rank'),
    ])
    .where('cronJobId', 'in', [...cronJobIds])
  const rows = await db
    .selectFrom('cronRuns')
    .selectAll()
    .where('id', 'in', db.selectFrom(newest.as('newest')).select('newest.id').where('newest.rank', '=', 1))
    .execute()
  return new Map(rows.map((row) => [row.cronJobId, row]))
}

export const listUnfinished = (db: Db, filter: { projectId?: string; cronJobId?: string }): Promise<CronRunRow[]> => {
  let query = db.selectFrom('cronRuns').selectAll().where('status', 'in', unfinished)
  if (filter.projectId !== undefined) query = query.where('projectId', '=', filter.projectId)
  if (filter.cronJobId !== undefined) query = query.where('cronJobId', '=', filter.cronJobId)
  return query.orderBy('createdAt').orderBy('id').execute()
}

/** Instances that run a task now. */
export const runningInstances = async (db: Db): Promise<string[]> => {
  const rows = await db.selectFrom('cronRuns').select('instanceId').where('status', '=', 'running').execute()
  return rows.flatMap(({ instanceId }) => instanceId ?? [])
}

/** Undefined when the task already has a run for that scheduled time. */
export const insertRun = (db: Db, row: Insertable<CronRunsTable>): Promise<CronRunRow | undefined> =>
  db
    .insertInto('cronRuns')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()

/** Undefined when the current status does not allow the change: a terminal one is final. */
export const transitionRun = (
  db: Db,
  id: string,
  to: CronRunStatus,
  changes: Omit<Updateable<CronRunsTable>, 'status'> = {},
): Promise<CronRunRow | undefined> =>
  db
    .updateTable('cronRuns')
    .set({ ...changes, status: to })
    .where('id', '=', id)
    .where('status', 'in', sourcesOf<CronRunStatus>(cronRunTransitions, to))
    .returningAll()
    .executeTakeFirst()

export const saveLogPosition = (db: Db, id: string, logPosition: string | null) =>
  db.updateTable('cronRuns').set({ logPosition }).where('id', '=', id).execute()

/** Keeps the newest runs of a task, counted separately for those that ran and those that did not. */
export async function pruneRuns(db: Db, cronJobId: string): Promise<void> {
  const ran: readonly CronRunStatus[] = ['succeeded', 'failed', 'timed_out']
  const didNotRun: readonly CronRunStatus[] = ['skipped', 'missed']
  for (const statuses of [ran, didNotRun]) {
    const old = db
      .selectFrom('cronRuns')
      .select(['id'])
      .where('cronJobId', '=', cronJobId)
      .where('status', 'in', statuses)
      .orderBy('createdAt', 'desc')
      .orderBy('id', 'desc')
      // SQLite accepts an offset only with a limit.
      .limit(1_000_000)
      .offset(limits.taskRunsKept)
    await db
      .deleteFrom('cronRuns')
      .where('id', 'in', db.selectFrom(old.as('old')).select('old.id'))
      .execute()
  }
}
