import type { Db } from '../../../platform/db/schema.ts'
import type { PolicyRow, RunRow } from '../../../platform/db/tables/backups.ts'

/** SQL of stored runs, their retention and their keys. */

/** Copies the retention of a policy that is about to be deleted to its runs. */
export const copyRetentionToRuns = (db: Db, { id, retainCount, retainDays }: PolicyRow) =>
  db.updateTable('backupRuns').set({ formerPolicyId: id, retainCount, retainDays }).where('policyId', '=', id).execute()

/** Attaches runs to their restored policy, which defines their retention again. */
export const attachRuns = (db: Db, { id }: PolicyRow) =>
  db
    .updateTable('backupRuns')
    .set({ policyId: id, formerPolicyId: null, retainCount: null, retainDays: null })
    .where('formerPolicyId', '=', id)
    .execute()

/** Successful runs whose data is at a destination of this instance. */
const storedRuns = (db: Db) =>
  db.selectFrom('backupRuns').where('status', '=', 'succeeded').where('prunedAt', 'is', null).where('importedAt', 'is', null)

const newestStored = (db: Db) => storedRuns(db).selectAll().orderBy('createdAt', 'desc').orderBy('id', 'desc')

/** Successful runs of a policy, newest first. */
export const listSuccessfulRuns = (db: Db, policyId: string): Promise<RunRow[]> =>
  newestStored(db).where('policyId', '=', policyId).execute()

/** The newest run of the same policy (of the project, if the run has no policy) that can be restored completely. */
export const findNewestComplete = (
  db: Db,
  { policyId, projectId }: Pick<RunRow, 'policyId' | 'projectId'>,
): Promise<RunRow | undefined> =>
  newestStored(db)
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

/** Runs whose policy was deleted, newest first. */
export const retiredRuns = (db: Db, projectId: string): Promise<RunRow[]> =>
  newestStored(db).where('projectId', '=', projectId).where('policyId', 'is', null).execute()

/** Projects, also deleted ones, that have stored runs, or pruned runs whose objects are not all removed. */
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

/** Number of stored runs by organisation and by the key that decrypts them. */
export async function countStoredByRecipient(
  db: Db,
): Promise<{ organizationId: string; recipient: string | null; count: number }[]> {
  const rows = await storedRuns(db)
    .select(['organizationId', 'recipient', ({ fn }) => fn.countAll<number>().as('count')])
    .groupBy(['organizationId', 'recipient'])
    .execute()
  return rows.map((row) => ({ ...row, count: Number(row.count) }))
}

/** Sets the key of stored runs that do not name one. */
export const setMissingRecipient = (db: Db, recipient: string) =>
  db
    .updateTable('backupRuns')
    .set({ recipient })
    .where('status', '=', 'succeeded')
    .where('prunedAt', 'is', null)
    .where('recipient', 'is', null)
    .where('importedAt', 'is', null)
    .execute()

/** Marks a run as pruned, unless it is protected, or a restore of it was begun concurrently. */
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

/** Runs that are marked as pruned and not fully removed: the manifest's name is cleared last. */
export const listIncompletelyPruned = (db: Db, projectId: string): Promise<RunRow[]> =>
  db
    .selectFrom('backupRuns')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('prunedAt', 'is not', null)
    .where('manifestName', 'is not', null)
    .execute()
