import type { Db } from '../../../platform/db/schema.ts'
import type { PolicyRow, RunRow } from '../../../platform/db/tables/backups.ts'

/** The SQL of what is kept, for how long, and what opens it. */

/** Their policy is about to go. */
export const keepAsRetired = (db: Db, { id, retainCount, retainDays }: PolicyRow) =>
  db.updateTable('backupRuns').set({ formerPolicyId: id, retainCount, retainDays }).where('policyId', '=', id).execute()

/** Their policy is there again, and says how long they are kept. */
export const attachRuns = (db: Db, { id }: PolicyRow) =>
  db
    .updateTable('backupRuns')
    .set({ policyId: id, formerPolicyId: null, retainCount: null, retainDays: null })
    .where('formerPolicyId', '=', id)
    .execute()

/** Good runs whose data is at a destination of this instance. */
const kept = (db: Db) =>
  db.selectFrom('backupRuns').where('status', '=', 'succeeded').where('prunedAt', 'is', null).where('importedAt', 'is', null)

const newestKept = (db: Db) => kept(db).selectAll().orderBy('createdAt', 'desc').orderBy('id', 'desc')

/** Newest first. */
export const goodRunsOf = (db: Db, policyId: string): Promise<RunRow[]> =>
  newestKept(db).where('policyId', '=', policyId).execute()

/** The newest run of the same policy, or else of the project, that can be restored whole. */
export const newestWhole = (
  db: Db,
  { policyId, projectId }: Pick<RunRow, 'policyId' | 'projectId'>,
): Promise<RunRow | undefined> =>
  newestKept(db)
    .where(policyId === null ? 'projectId' : 'policyId', '=', policyId ?? projectId)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('backupArtifacts')
            .select('backupArtifacts.id')
            .whereRef('backupArtifacts.runId', '=', 'backupRuns.id')
            .where('backupArtifacts.damaged', '=', 1),
        ),
      ),
    )
    .limit(1)
    .executeTakeFirst()

/** Newest first: those whose policy is gone. */
export const retiredRuns = (db: Db, projectId: string): Promise<RunRow[]> =>
  newestKept(db).where('projectId', '=', projectId).where('policyId', 'is', null).execute()

/** Projects, deleted ones too, of which anything is kept, or is marked and not yet gone. */
export async function projectsWithRuns(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('backupRuns')
    .select('projectId')
    .distinct()
    .where('status', '=', 'succeeded')
    .where('importedAt', 'is', null)
    .where((is) => is.or([is('prunedAt', 'is', null), is('manifestName', 'is not', null)]))
    .execute()
  return rows.map(({ projectId }) => projectId)
}

/** How many are kept, by whose they are and by the key that opens them. */
export async function keptByRecipient(db: Db): Promise<{ organizationId: string; recipient: string | null; count: number }[]> {
  const rows = await kept(db)
    .select(['organizationId', 'recipient', ({ fn }) => fn.countAll<number>().as('count')])
    .groupBy(['organizationId', 'recipient'])
    .execute()
  return rows.map((row) => ({ ...row, count: Number(row.count) }))
}

/** Of kept ones that do not say which key opens them. */
export const nameRecipient = (db: Db, recipient: string) =>
  db
    .updateTable('backupRuns')
    .set({ recipient })
    .where('status', '=', 'succeeded')
    .where('prunedAt', 'is', null)
    .where('recipient', 'is', null)
    .where('importedAt', 'is', null)
    .execute()

/** Unless it was locked, or a restore of it was begun, at this very moment. */
export const markPruned = (db: Db, id: string, now: number) =>
  db
    .updateTable('backupRuns')
    .set({ prunedAt: now })
    .where('id', '=', id)
    .where('prunedAt', 'is', null)
    .where((is) => is.or([is('protected', '=', 0), is('protectedUntil', '<=', now)]))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('backupRestores')
            .select('backupRestores.id')
            .whereRef('backupRestores.runId', '=', 'backupRuns.id')
            .where('backupRestores.status', 'in', ['staged', 'applying']),
        ),
      ),
    )
    .execute()

/** Marked, and not all of it is gone: the name of its manifest goes last. */
export const prunedNotGone = (db: Db, projectId: string): Promise<RunRow[]> =>
  db
    .selectFrom('backupRuns')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('prunedAt', 'is not', null)
    .where('manifestName', 'is not', null)
    .execute()
