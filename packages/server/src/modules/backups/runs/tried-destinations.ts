import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import type { RunRow } from '../../../platform/db/tables/backups.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'

const goodForMs = 60_000

/** By the module's own parts, then by destination: when it last kept what it was given. */
const lastGood = new WeakMap<BackupsDeps, Map<string, number>>()

/**
 * Says early what is wrong with a destination, before anything is dumped. A thousand runs that are due in one minute ask it once: each of
 * them reads back all that it stores, so that nothing is proven by asking more often. One that somebody asked for always asks.
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

/** Something went wrong there: the next run asks again. */
export const askAgain = ({ destinationId }: RunRow, deps: BackupsDeps): void =>
  void (destinationId !== null && lastGood.get(deps)?.delete(destinationId))
