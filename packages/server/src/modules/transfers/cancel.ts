import type { TransferSideRow } from '../../platform/db/tables/transfers.ts'
import { fail } from '../../platform/failure.ts'
import { cancelTransfer } from './coordinator/cancel-transfer.ts'
import { isCoordinator, type TransfersDeps } from './deps.ts'
import { cancelExport } from './export/exports.ts'
import { cancelImport } from './import/imports.ts'
import { findSide, hasEnded } from './rows/side-store.ts'

/** Cancels the transfer on this side: the project stays where it was. */
export const cancelSide = (row: TransferSideRow, deps: TransfersDeps): Promise<void> =>
  (row.side === 'departure' ? cancelExport : cancelImport)(row, deps)

/**
 * Cancels a transfer for any user of the organisation who may transfer projects. A transfer that this instance coordinates is
 * cancelled by its coordinator: the other side may already have been asked to serve. A coordinator on another instance gets the
 * new state with its next request.
 */
export async function cancel(id: string, organizationId: string, deps: TransfersDeps): Promise<void> {
  if (isCoordinator(deps) && (await cancelTransfer(id, organizationId, deps))) return
  const row = id.includes('\0') ? undefined : await findSide(deps.database.db, id)
  if (row?.organizationId !== organizationId) return fail('not_found')
  if (hasEnded(row)) fail('conflict', { message: `The transfer has already ended: it is ${row.state}` })
  await cancelSide(row, deps)
}
