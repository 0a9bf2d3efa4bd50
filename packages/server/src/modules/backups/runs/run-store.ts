import { type RunStatus, type RunsQuery, runMoves, runStatuses, sourcesOf, terminalRun } from '@berth/contract'
import type { Insertable, Updateable } from 'kysely'
import { page } from '../../../platform/db/pages.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { ArtifactRow, BackupRunsTable, RunRow } from '../../../platform/db/tables/backups.ts'

/** The SQL of runs and of what they store. */

export const runsUnderWay: readonly RunStatus[] = runStatuses.filter((status) => !terminalRun.has(status))

export const findRunOf = (db: Db, organizationId: string, id: string): Promise<RunRow | undefined> =>
  db.selectFrom('backupRuns').selectAll().where('id', '=', id).where('organizationId', '=', organizationId).executeTakeFirst()

export const findRun = (db: Db, id: string): Promise<RunRow | undefined> =>
  db.selectFrom('backupRuns').selectAll().where('id', '=', id).executeTakeFirst()

export function listRuns(db: Db, projectId: string, { limit = 100, cursor, policyId, status }: RunsQuery) {
  let query = db.selectFrom('backupRuns').selectAll().where('projectId', '=', projectId)
  if (policyId !== undefined) query = query.where('policyId', '=', policyId)
  if (status !== undefined) query = query.where('status', '=', status)
  return page(query, { limit, cursor, by: ['createdAt', 'id'], direction: 'desc' })
}

export const listUnderWay = (db: Db, projectId: string): Promise<RunRow[]> =>
  db.selectFrom('backupRuns').selectAll().where('projectId', '=', projectId).where('status', 'in', runsUnderWay).execute()

/** The one of a policy that is under way, safety runs aside. */
export const findUnderWay = (db: Db, policyId: string): Promise<RunRow | undefined> =>
  db
    .selectFrom('backupRuns')
    .selectAll()
    .where('policyId', '=', policyId)
    .where('status', 'in', runsUnderWay)
    .where('trigger', 'not in', ['pre_restore', 'pre_deploy'])
    .executeTakeFirst()

export const allRuns = (db: Db, projectId: string): Promise<RunRow[]> =>
  db.selectFrom('backupRuns').selectAll().where('projectId', '=', projectId).orderBy('createdAt').execute()

/** Undefined when the policy has one under way already. */
export const insertRun = (db: Db, row: Insertable<BackupRunsTable>): Promise<RunRow | undefined> =>
  db
    .insertInto('backupRuns')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()

/** The one way a run changes its status: atomic, and terminal is final. Undefined when it was not to be moved. */
export const moveRunTo = (
  db: Db,
  id: string,
  to: RunStatus,
  changes: Updateable<BackupRunsTable> = {},
): Promise<RunRow | undefined> =>
  db
    .updateTable('backupRuns')
    .set({ ...changes, status: to })
    .where('id', '=', id)
    .where('status', 'in', sourcesOf(runMoves, to))
    .returningAll()
    .executeTakeFirst()

/** Facts about a run; its status stays. */
export const updateRun = (db: Db, id: string, changes: Omit<Updateable<BackupRunsTable>, 'status' | 'id'>) =>
  db.updateTable('backupRuns').set(changes).where('id', '=', id).execute()

// What they saved

/** Without the index, which may be long. */
export type ArtifactFacts = Omit<ArtifactRow, 'index'>
const facts = ['id', 'runId', 'destinationId', 'name', 'kind', 'reused', 'sizeBytes', 'sha256', 'details', 'position'] as const

export async function artifactsOfAll(db: Db, runIds: readonly string[]): Promise<Map<string, ArtifactFacts[]>> {
  if (runIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('backupArtifacts')
    .select(facts)
    .where('runId', 'in', [...runIds])
    .orderBy('position')
    .execute()
  return Map.groupBy(rows, ({ runId }) => runId)
}
