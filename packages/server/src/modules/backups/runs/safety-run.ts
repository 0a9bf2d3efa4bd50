import type { Db } from '../../../platform/db/schema.ts'
import type { RestoreRow, RunRow } from '../../../platform/db/tables/backups.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { findAnyProject } from '../../projects/index.ts'
import type { BackupsDeps } from '../deps.ts'
import { findPolicy } from '../policy-store.ts'
import { endRun } from './move-run.ts'
import { newRun } from './new-run.ts'
import { findRun, insertRun } from './run-store.ts'

/**
 * Creates the run that saves the data a restore is about to replace; the restore performs it itself, so no job is queued. The
 * run of an earlier attempt is resumed. Undefined for a deleted project without kept volumes.
 */
export async function createSafetyRun(
  run: RunRow,
  { restore, hasVolumes }: { restore: RestoreRow; hasVolumes: boolean },
  db: Db,
  deps: BackupsDeps,
): Promise<RunRow | undefined> {
  if (restore.preRestoreRunId !== null) return findRun(db, restore.preRestoreRunId)
  const project = await findAnyProject(db, run.projectId)
  if (!project && !hasVolumes) return undefined
  const policy = run.policyId === null ? undefined : await findPolicy(db, run.policyId)
  const owner = { ...run, policyId: policy?.id ?? null, projectName: project?.name ?? run.projectName }
  const row = newRun(owner, { trigger: 'pre_restore', createdBy: restore.createdBy }, deps)
  // Attached to the deleted project's policy when that is restored.
  const { formerPolicyId, retainCount, retainDays } = run
  return insertRun(db, policy ? row : { ...row, formerPolicyId, retainCount, retainDays })
}

/** Ends a safety run that is still under way when its restore ends. */
export async function endSafetyRun(
  { preRestoreRunId }: RestoreRow,
  transaction: TransactionContext,
  deps: BackupsDeps,
): Promise<void> {
  const ending = { status: 'cancelled', code: 'cancelled', message: 'The restore of this run has ended' } as const
  if (preRestoreRunId !== null) await endRun(preRestoreRunId, ending, transaction, deps)
}
