import type { TransferEndRow } from '../../platform/db/tables/transfers.ts'
import { fail } from '../../platform/failure.ts'
import { abortArrival } from './arrivals/arrivals.ts'
import { keep } from './departures/departures.ts'
import type { TransfersDeps } from './deps.ts'
import { findEnd, isOver } from './store.ts'

/** Nothing is changed by the move, and its project serves where it did. */
export const callOffEnd = (end: TransferEndRow, deps: TransfersDeps): Promise<void> =>
  (end.side === 'departure' ? keep : abortArrival)(end, deps)

/**
 * Asked for by anybody of the organisation who may move projects. One that is driven from here is its driver's alone: it may
 * have asked the other side to serve. Elsewhere the driver is told when it next asks.
 */
export async function callOff(id: string, organizationId: string, deps: TransfersDeps): Promise<void> {
  if (await deps.drivers.callOff?.(id, organizationId)) return
  const end = id.includes('\0') ? undefined : await findEnd(deps.database.db, id)
  if (end?.organizationId !== organizationId) return fail('not_found')
  if (isOver(end)) fail('conflict', { words: `The move is over: it is ${end.state}` })
  await callOffEnd(end, deps)
}
