import type { PrepareBody } from '@berth/contract'
import { newId } from '../../../platform/db/ids.ts'
import type { RestoreRow, RunRow } from '../../../platform/db/tables/backups.ts'
import { fail } from '../../../platform/failure.ts'
import { hashToken } from '../../../platform/secrets/token.ts'
import { randomCode } from '../../access/index.ts'
import { lockProject } from '../../projects/index.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { groupOf } from '../runs/clean-up-kind.ts'
import { storeOf } from '../runs/perform-run.ts'
import { findRun } from '../runs/run-store.ts'
import { moveRestore } from './move-restore.ts'
import { refuseCopyOfDeleted } from './refuse-copy.ts'
import { refuseMoved } from './refuse-moved.ts'
import { verifyJobKey, verifyRestore } from './restore-kinds.ts'
import { insertRestore, listStaged } from './restore-store.ts'

const manifestTimeoutMs = 20_000

/**
 * Stages a restore. Whether the run succeeded and its manifest exists is checked at once; the rest of the archive is verified
 * in the background. A staged restore of the run for the same target is cancelled and replaced.
 */
export async function prepareRestore(
  run: RunRow,
  { target = 'in_place' }: PrepareBody,
  createdBy: string,
  deps: BackupsDeps,
): Promise<{ restore: RestoreRow; confirmationToken: string }> {
  await refuseMoved(deps.database.db, run.projectId, deps)
  refuseNotRestorable(run)
  await refuseWithoutManifest(run, deps)
  const confirmationToken = `brc_${randomCode(40)}`
  const restore = await deps.database.transaction(async (transaction) => {
    await lockProject(transaction, run.projectId)
    // The run may have been pruned since.
    refuseNotRestorable((await findRun(transaction.db, run.id)) ?? fail('not_found'))
    await refuseCopyOfDeleted(transaction.db, { projectId: run.projectId, target })
    const [id, now] = [newId('rst'), nowOf(deps)]
    for (const earlier of await listStaged(transaction.db, { runId: run.id, target })) {
      const error = { errorCode: 'replaced', errorMessage: `replaced by ${id}` }
      await moveRestore(earlier.id, 'cancelled', transaction, deps, error)
      await transaction.cancelJob({ uniqueKey: verifyJobKey(earlier.id) })
    }
    const row = await insertRestore(transaction.db, {
      id,
      organizationId: run.organizationId,
      runId: run.id,
      projectId: run.projectId,
      target,
      status: 'staged',
      statusSince: now,
      tokenHash: hashToken(confirmationToken),
      verification: 'pending',
      verifiedBytes: 0,
      verifyBytesTotal: run.sizeBytes,
      report: null,
      bytesTotal: null,
      bytesDone: 0,
      preRestoreRunId: null,
      dataState: 'untouched',
      progressNote: null,
      cancelRequested: false,
      errorCode: null,
      errorMessage: null,
      createdBy,
      createdAt: now,
      startedAt: null,
      finishedAt: null,
    })
    await transaction.enqueue(
      verifyRestore.of({ organizationId: row.organizationId }),
      { restoreId: row.id },
      { uniqueKey: verifyJobKey(row.id), groupKey: groupOf(run.projectId) },
    )
    return row
  })
  return { restore, confirmationToken }
}

function refuseNotRestorable(run: RunRow): void {
  const message = notRestorableReason(run)
  if (message) fail('not_restorable', { message })
}

function notRestorableReason({ status, prunedAt, manifestName, destinationId, importedAt }: RunRow): string | null {
  if (importedAt !== null)
    return 'The data of this run is stored at a destination of another instance. Transfer the project back there, then restore it.'
  if (status !== 'succeeded') return `Only a successful run can be restored, but this run is ${status}`
  if (prunedAt !== null) return 'The run was pruned: its data was deleted. Restore a newer run.'
  if (destinationId === null) return 'The destination of this run was deleted. Restore a run at another destination.'
  return manifestName === null ? 'The run has no manifest. Restore another run.' : null
}

async function refuseWithoutManifest(run: RunRow, deps: BackupsDeps): Promise<void> {
  const abort = AbortSignal.timeout(manifestTimeoutMs)
  const size = await sizeOfManifest(run, deps, abort).catch((cause: unknown) =>
    fail('not_restorable', {
      message: `The destination cannot be read: ${cause instanceof Error ? cause.message : cause}`,
      cause,
    }),
  )
  if (size === undefined)
    fail('not_restorable', { message: 'The manifest of this run is missing at its destination. Restore another run.' })
}

async function sizeOfManifest(run: RunRow, deps: BackupsDeps, abort: AbortSignal): Promise<number | undefined> {
  const store = await storeOf(run, deps, abort)
  try {
    return await store.size(run.manifestName as string, abort)
  } finally {
    await store.close()
  }
}
