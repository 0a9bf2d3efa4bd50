import type { RestoreRow } from '../../../platform/db/tables/backups.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import { constantTimeEqual, hashToken } from '../../../platform/secrets/token.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { beginOperation, endOperation, enterUndoing, findBySubject, lockProject } from '../../projects/index.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { groupOf } from '../runs/clean-up-kind.ts'
import { moveRestore } from './move-restore.ts'
import { refuseCopyOfDeleted } from './refuse-copy.ts'
import { refuseMoved } from './refuse-moved.ts'
import { applyJobKey, applyRestore, type SettlePayload, settleRestore, verifyJobKey } from './restore-kinds.ts'
import { findRestore } from './restore-store.ts'

/**
 * Accepts the exact token, once: of two concurrent calls one wins. A wrong token is refused in any state and changes nothing,
 * so it discloses nothing about the restore. The data is written in the background, after the archive was verified.
 */
export const applyWithToken = (
  { id, projectId }: RestoreRow,
  confirmationToken: string,
  deps: BackupsDeps,
): Promise<RestoreRow> =>
  deps.database.transaction(async (transaction) => {
    await lockProject(transaction, projectId)
    const restore = (await findRestore(transaction.db, id)) ?? fail('not_found')
    if (restore.tokenHash === null || !constantTimeEqual(restore.tokenHash, hashToken(confirmationToken)))
      refuse('confirmationToken', 'is not the token of this restore. Prepare the restore again to get a new token.')
    if (restore.status !== 'staged')
      fail('not_staged', {
        message: `The restore is ${restore.status}, but only a staged restore can be applied. Prepare it again.`,
      })
    await refuseMoved(transaction.db, projectId, deps)
    await refuseCopyOfDeleted(transaction.db, restore)
    const requested = { projectId, environment: null, kind: 'restore', subjectId: id } as const
    const { isWaiting } = await beginOperation(requested, transaction, deps)
    const updated = await moveRestore(id, 'applying', transaction, deps, { startedAt: nowOf(deps) })
    if (!updated) return fail('not_staged')
    if (!isWaiting) await enqueueApply(updated, transaction)
    return updated
  })

export const enqueueApply = ({ id, projectId, organizationId }: RestoreRow, { enqueue }: TransactionContext) =>
  enqueue(
    applyRestore.of({ organizationId }),
    { restoreId: id },
    { uniqueKey: applyJobKey(id), groupKey: groupOf(projectId), priority: 5 },
  )

interface CancelOptions {
  message?: string
  /** The project is being deleted with its volumes. */
  isAbandoned?: boolean
}

/** Cancels a restore. Data that it has replaced is put back in the background: `finishedAt` is null until that has ended. */
export const cancelRestore = (
  { id, projectId }: RestoreRow,
  deps: BackupsDeps,
  { message: errorMessage = 'The restore was cancelled', isAbandoned = false }: CancelOptions = {},
): Promise<RestoreRow> =>
  deps.database.transaction(async (transaction) => {
    await lockProject(transaction, projectId)
    const restore = (await findRestore(transaction.db, id)) ?? fail('not_found')
    // Already cancelled, and the previous data is being put back: a second request changes nothing.
    if (!isAbandoned && restore.status === 'cancelled' && restore.finishedAt === null) return restore
    const error = { errorCode: 'cancelled', errorMessage }
    const hasStarted = restore.status === 'applying' && (await findBySubject(transaction.db, id))?.phase !== 'waiting'
    const finishedAt = hasStarted ? null : nowOf(deps)
    const updated = await moveRestore(id, 'cancelled', transaction, deps, { ...error, finishedAt, cancelRequested: true })
    if (!updated) return fail('conflict', { message: `The restore has already ended: it is ${restore.status}` })
    await transaction.cancelJob({ uniqueKey: applyJobKey(id) })
    await transaction.cancelJob({ uniqueKey: verifyJobKey(id) })
    if (!hasStarted) await endOperation(id, transaction)
    else {
      await enterUndoing(id, transaction)
      await enqueueSettle(restore, { restoreId: id, ...(isAbandoned ? { isAbandoned } : {}) }, transaction)
    }
    return updated
  })

/** Enqueued in the group of the restore's own job, so that it begins after all writes have ended. */
export const enqueueSettle = (
  { projectId, organizationId }: RestoreRow,
  payload: SettlePayload,
  { enqueue }: TransactionContext,
) => enqueue(settleRestore.of({ organizationId }), payload, { groupKey: groupOf(projectId), priority: 20 })
