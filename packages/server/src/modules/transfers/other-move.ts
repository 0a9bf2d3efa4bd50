import { iso } from '../../platform/db/columns.ts'
import type { TransferEndRow } from '../../platform/db/tables/transfers.ts'
import { fail } from '../../platform/failure.ts'

/** How to see what is open, and to end it. */
export const howToCallOff = 'berth project transfers lists them, and calls one off with --cancel <id>'

/** Of a project one move is under way at a time, and whoever drives it may be gone. */
export function refuseOther([other]: readonly TransferEndRow[], organizationId: string): void {
  if (!other) return
  if (other.organizationId !== organizationId) fail('work_in_progress', { words: 'Another move of this project is under way' })
  const { id, state, touchedAt } = other
  fail('work_in_progress', {
    words: `Another move or export of this project is under way (${id}: ${state}, asked for last at ${iso(touchedAt)}): wait for it, or call it off with berth project transfers --cancel ${id}`,
  })
}
