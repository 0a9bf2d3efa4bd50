import { type ArrivalState, arrivalMoves, type DepartureState, departureMoves, sourcesOf } from '@berth/contract'
import type { TransferEndRow } from '../../../platform/db/tables/transfers.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type TransfersDeps } from '../deps.ts'
import type { EndChanges } from './side-store.ts'

type State = TransferEndRow['state']

/** Changes the state of one side of a transfer; the only function that does. Undefined if the transition is not allowed. */
export function moveEnd(
  { id, side }: Pick<TransferEndRow, 'id' | 'side'>,
  to: State,
  { db }: Pick<TransactionContext, 'db'>,
  deps: Pick<TransfersDeps, 'clock'>,
  changes: EndChanges = {},
): Promise<TransferEndRow | undefined> {
  const from: State[] =
    side === 'departure'
      ? sourcesOf<DepartureState>(departureMoves, to as DepartureState)
      : sourcesOf<ArrivalState>(arrivalMoves, to as ArrivalState)
  return db
    .updateTable('transferEnds')
    .set({ ...changes, state: to, touchedAt: nowOf(deps) })
    .where('id', '=', id)
    .where('state', 'in', from)
    .returningAll()
    .executeTakeFirst()
}
