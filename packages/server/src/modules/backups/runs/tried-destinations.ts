import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import type { RunRow } from '../../../platform/db/tables/backups.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'

const goodForMs = 60_000

/** Time of each destination's last successful check, per module instance. */
const lastGood = new WeakMap<BackupsDeps, Map<string, number>>()

/**
 * Checks a destination before anything is dumped, so that its errors are reported early. A thousand scheduled runs due in one
 * minute check it once: each run reads back what it stores, so more checks prove nothing. A requested run always checks.
 */
export async function tryDestination(run: RunRow, store: ArchiveStore, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  const known = lastGood.get(deps) ?? new Map<string, number>()
  lastGood.set(deps, known)
  const id = run.destinationId as string
  const age = nowOf(deps) - (known.get(id) ?? 0)
  if (run.trigger === 'schedule' && age >= 0 && age < goodForMs) return
  await store.check(abort)
  known.set(id, nowOf(deps))
}

/** Forgets the check after a failure: the next run checks again. */
export const retry = ({ destinationId }: RunRow, deps: BackupsDeps): void =>
  void (destinationId !== null && lastGood.get(deps)?.delete(destinationId))
