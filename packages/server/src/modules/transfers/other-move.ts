import { iso } from '../../platform/db/columns.ts'
import type { TransferEndRow } from '../../platform/db/tables/transfers.ts'
import { fail } from '../../platform/failure.ts'

/** Tells the user how to list open moves and cancel one. */
export const howToCallOff = 'berth project transfers lists them, and calls one off with --cancel <id>'

/** Refuses a second move of a project. The message names the first one, since its driver may no longer exist. */
export function refuseOther([other]: readonly TransferEndRow[], organizationId: string): void {
  if (!other) return
  if (other.organizationId !== organizationId) fail('work_in_progress', { words: 'Another move of this project is under way' })
  const { id, state, touchedAt } = other
  fail('work_in_progress', {
    words: `Another move or export of this project is under way (${id}: ${state}, asked for last at ${iso(touchedAt)}): wait for it, or call it off with berth project transfers --cancel ${id}`,
  })
}
