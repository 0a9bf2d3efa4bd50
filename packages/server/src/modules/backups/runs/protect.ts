import type { ProtectBody } from '@berth/contract'
import type { RunRow } from '../../../platform/db/tables/backups.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'

/** Protects a run from pruning, permanently or until a time, or removes the protection. */
export async function protectRun(run: RunRow, body: ProtectBody, deps: BackupsDeps): Promise<RunRow> {
  const isProtected = body.protected ?? true
  const until = body.until ? Date.parse(body.until) : null
  if (until !== null && !isProtected) refuse('until', 'requires protected: true')
  if (until !== null && until <= nowOf(deps)) refuse('until', 'must be in the future')
  // Checks the current row: pruning marks a run before it removes anything.
  const changed = await deps.database.db
    .updateTable('backupRuns')
    .set({ protected: isProtected, protectedUntil: until })
    .where('id', '=', run.id)
    .where('prunedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  return changed ?? fail('conflict', { message: 'The run was already pruned and cannot be protected. Protect a newer run.' })
}
