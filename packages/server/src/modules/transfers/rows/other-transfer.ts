import { iso } from '../../../platform/db/columns.ts'
import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import { fail } from '../../../platform/failure.ts'

/** Tells the user how to list open transfers and cancel one. */
export const howToCancel = 'list them with berth project transfers, cancel one with --cancel <id>'

/** Refuses a second transfer of a project. The message names the first one, since its coordinator may no longer exist. */
export function refuseOtherTransfer([other]: readonly TransferSideRow[], organizationId: string): void {
  if (!other) return
  if (other.organizationId !== organizationId)
    fail('work_in_progress', { message: 'Another transfer of this project is running' })
  const { id, state, touchedAt } = other
  fail('work_in_progress', {
    message: `Another transfer or export of this project is running (${id}: ${state}, last active ${iso(touchedAt)}). Wait for it, or cancel it with berth project transfers --cancel ${id}.`,
  })
}
