import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import { isManifest } from './manifest.ts'

/**
 * Removes everything below the prefix, which is a folder of Berth, except `kept`. Names are processed as a stream, so that only
 * a batch is in memory. Manifests are removed in a first listing: a run whose parts are being removed must not look restorable.
 */
export async function removeAll(
  store: ArchiveStore,
  prefix: string,
  abort: AbortSignal,
  kept: ReadonlySet<string> = new Set(),
): Promise<void> {
  await removeListed(store, prefix, abort, (name) => isManifest(name) && !kept.has(name))
  await removeListed(store, prefix, abort, (name) => !kept.has(name))
}

const batchNames = 1_000

async function removeListed(store: ArchiveStore, prefix: string, abort: AbortSignal, isGoing: (name: string) => boolean) {
  let batch: string[] = []
  const removeBatch = async () => {
    for (const name of batch) await store.remove(name, abort)
    batch = []
  }
  for await (const { name } of store.list(prefix, abort)) {
    if (!name.startsWith(prefix) || !isGoing(name)) continue
    batch.push(name)
    if (batch.length === batchNames) await removeBatch()
  }
  await removeBatch()
}

/** Removes the manifest first: a run whose parts are being removed must not look restorable. */
export async function removeNames(store: ArchiveStore, names: readonly string[], abort: AbortSignal): Promise<void> {
  for (const name of [...names.filter(isManifest), ...names.filter((one) => !isManifest(one))]) await store.remove(name, abort)
}
