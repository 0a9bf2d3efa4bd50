import type { TransferEndRow } from '../../platform/db/tables/transfers.ts'
import { fail } from '../../platform/failure.ts'
import { cancelTransfer } from './coordinator/cancel-transfer.ts'
import { isCoordinator, type TransfersDeps } from './deps.ts'
import { keep } from './export/exports.ts'
import { abortArrival } from './import/imports.ts'
import { findEnd, isOver } from './rows/side-store.ts'

/** Cancels the move on this side: the project stays where it was. */
export const callOffEnd = (end: TransferEndRow, deps: TransfersDeps): Promise<void> =>
  (end.side === 'departure' ? keep : abortArrival)(end, deps)

/**
 * Cancels a move for any user of the organisation who may move projects. A move that this instance drives is cancelled by its
 * driver: the other side may already have been asked to serve. A driver elsewhere learns of it at its next request.
 */
export async function callOff(id: string, organizationId: string, deps: TransfersDeps): Promise<void> {
  if (isCoordinator(deps) && (await cancelTransfer(id, organizationId, deps))) return
  const end = id.includes('\0') ? undefined : await findEnd(deps.database.db, id)
  if (end?.organizationId !== organizationId) return fail('not_found')
  if (isOver(end)) fail('conflict', { words: `The transfer has already ended: it is ${end.state}` })
  await callOffEnd(end, deps)
}
