import { iso } from '../../platform/db/columns.ts'
import type { TransferEndRow } from '../../platform/db/tables/transfers.ts'
import { fail } from '../../platform/failure.ts'

/** Tells the user how to list open moves and cancel one. */
export const howToCallOff = 'list them with berth project transfers, cancel one with --cancel <id>'

/** Refuses a second move of a project. The message names the first one, since its driver may no longer exist. */
export function refuseOther([other]: readonly TransferEndRow[], organizationId: string): void {
  if (!other) return
  if (other.organizationId !== organizationId) fail('work_in_progress', { words: 'Another transfer of this project is running' })
  const { id, state, touchedAt } = other
  fail('work_in_progress', {
    words: `Another transfer or export of this project is running (${id}: ${state}, last active ${iso(touchedAt)}). Wait for it, or cancel it with berth project transfers --cancel ${id}.`,
  })
}
