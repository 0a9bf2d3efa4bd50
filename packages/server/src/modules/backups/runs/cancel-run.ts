import type { RunRow } from '../../../platform/db/tables/backups.ts'
import { fail } from '../../../platform/failure.ts'
import type { BackupsDeps } from '../deps.ts'
import { endRun } from './move-run.ts'
import { runJobKey } from './start-run.ts'

/** Ends the run now; its work stops, and its stored objects are removed in the background. */
export function cancelRun({ id }: Pick<RunRow, 'id'>, text: string, deps: BackupsDeps): Promise<RunRow> {
  return deps.database.transaction(async (transaction) => {
    const run = await endRun(id, { status: 'cancelled', code: 'cancelled', message: text }, transaction, deps)
    if (!run) return fail('conflict', { message: 'The run has already ended' })
    await transaction.cancelJob({ uniqueKey: runJobKey(id) })
    return run
  })
}
