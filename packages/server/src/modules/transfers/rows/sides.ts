import type { OpenSide, TransferExport } from '@berth/contract'
import { iso } from '../../../platform/db/columns.ts'
import { transferEndJson } from '../../../platform/db/json-columns/transfers.ts'
import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import { fail } from '../../../platform/failure.ts'
import { nowOf, type TransfersDeps } from '../deps.ts'
import { findSide, updateSide } from './side-store.ts'

interface SideOwner {
  organizationId: string
  userId: string
}

/**
 * Finds this instance's side of a transfer for the user who started it; 404 for every other user. Records the time of the
 * request: a transfer that is not polled for long is cancelled.
 */
export async function findSideOf(
  id: string,
  side: TransferSideRow['side'],
  { organizationId, userId }: SideOwner,
  deps: TransfersDeps,
): Promise<TransferSideRow> {
  const row = id.includes('\0') ? undefined : await findSide(deps.database.db, id)
  const isOwner = row?.side === side && row.organizationId === organizationId && row.createdBy === userId
  if (!isOwner) return fail('not_found')
  const now = nowOf(deps)
  if (now - row.touchedAt > 5_000) await updateSide(deps.database.db, id, { touchedAt: now })
  return row
}

export const showSide = ({ id, projectId, side, state, createdBy, createdAt, touchedAt }: TransferSideRow): OpenSide => ({
  transfer: id,
  ...{ projectId, side, state, createdBy },
  createdAt: iso(createdAt),
  touchedAt: iso(touchedAt),
})

export const errorOf = ({ errorCode, errorMessage }: TransferSideRow) =>
  errorCode === null ? null : { code: errorCode, message: errorMessage ?? errorCode }

export const showExport = (row: TransferSideRow): TransferExport => ({
  transfer: row.id,
  projectId: row.projectId,
  state: row.state as TransferExport['state'],
  signer: row.signer,
  files: transferEndJson.files(row),
  warnings: transferEndJson.warnings(row),
  error: errorOf(row),
})
