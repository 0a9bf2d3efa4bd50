import { type ExportState, exportTransitions, type ImportState, importTransitions, sourcesOf } from '@berth/contract'
import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type TransfersDeps } from '../deps.ts'
import type { SideChanges } from './side-store.ts'

type State = TransferSideRow['state']

/** Changes the state of one side of a transfer; the only function that does. Undefined if the transition is not allowed. */
export function changeSideState(
  { id, side }: Pick<TransferSideRow, 'id' | 'side'>,
  to: State,
  { db }: Pick<TransactionContext, 'db'>,
  deps: Pick<TransfersDeps, 'clock'>,
  changes: SideChanges = {},
): Promise<TransferSideRow | undefined> {
  const from: State[] =
    side === 'departure'
      ? sourcesOf<ExportState>(exportTransitions, to as ExportState)
      : sourcesOf<ImportState>(importTransitions, to as ImportState)
  return db
    .updateTable('transferEnds')
    .set({ ...changes, state: to, touchedAt: nowOf(deps) })
    .where('id', '=', id)
    .where('state', 'in', from)
    .returningAll()
    .executeTakeFirst()
}
