import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import type { RunRow } from '../../../platform/db/tables/backups.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'

const checkValidMs = 60_000

/** Time of each destination's last successful check, per module instance. */
const lastSuccess = new WeakMap<BackupsDeps, Map<string, number>>()

/**
 * Checks a destination before anything is dumped, so that its errors are reported early. A thousand scheduled runs due in one
 * minute check it once: each run reads back what it stores, so more checks prove nothing. A requested run always checks.
 */
export async function checkBeforeRun(run: RunRow, store: ArchiveStore, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  const checkTimes = lastSuccess.get(deps) ?? new Map<string, number>()
  lastSuccess.set(deps, checkTimes)
  const id = run.destinationId as string
  const age = nowOf(deps) - (checkTimes.get(id) ?? 0)
  if (run.trigger === 'schedule' && age >= 0 && age < checkValidMs) return
  await store.check(abort)
  checkTimes.set(id, nowOf(deps))
}

/** Forgets the check after a failure: the next run checks again. */
export function forgetCheck({ destinationId }: RunRow, deps: BackupsDeps): void {
  if (destinationId !== null) lastSuccess.get(deps)?.delete(destinationId)
}
