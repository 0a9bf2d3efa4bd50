import type { Arrival, Departure, OpenEnd } from '@berth/contract'
import { iso } from '../../../platform/db/columns.ts'
import type { TransferEndRow } from '../../../platform/db/tables/transfers.ts'
import { fail } from '../../../platform/failure.ts'
import { nowOf, type TransfersDeps } from '../deps.ts'
import { filesOf } from '../import/received-files.ts'
import { findEnd, updateEnd } from './side-store.ts'

interface Driver {
  organizationId: string
  userId: string
}

/**
 * Finds this instance's side of a transfer for the user who started it; 404 for every other user. Records the time of the request: a move that
 * is not polled for long is cancelled.
 */
export async function endOf(
  id: string,
  side: TransferEndRow['side'],
  { organizationId, userId }: Driver,
  deps: TransfersDeps,
): Promise<TransferEndRow> {
  const end = id.includes('\0') ? undefined : await findEnd(deps.database.db, id)
  const isTheirs = end?.side === side && end.organizationId === organizationId && end.createdBy === userId
  if (!isTheirs) return fail('not_found')
  const now = nowOf(deps)
  if (now - end.touchedAt > 5_000) await updateEnd(deps.database.db, id, { touchedAt: now })
  return end
}

export const showOpen = ({ id, projectId, side, state, createdBy, createdAt, touchedAt }: TransferEndRow): OpenEnd => ({
  transfer: id,
  ...{ projectId, side, state, createdBy },
  createdAt: iso(createdAt),
  touchedAt: iso(touchedAt),
})

const errorOf = ({ errorCode, errorMessage }: TransferEndRow) =>
  errorCode === null ? null : { code: errorCode, message: errorMessage ?? errorCode }

export const showDeparture = (end: TransferEndRow): Departure => ({
  transfer: end.id,
  projectId: end.projectId,
  state: end.state as Departure['state'],
  signer: end.signer,
  files: JSON.parse(end.files),
  warnings: JSON.parse(end.warnings),
  error: errorOf(end),
})

export const showArrival = async (end: TransferEndRow, deps: TransfersDeps): Promise<Arrival> => ({
  transfer: end.id,
  projectId: end.projectId,
  state: end.state as Arrival['state'],
  recipient: end.recipient,
  files: await filesOf(end, deps),
  warnings: JSON.parse(end.warnings),
  error: errorOf(end),
})
