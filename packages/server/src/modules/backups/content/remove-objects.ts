import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import { isManifest } from './manifest.ts'

/**
 * Removes everything below the prefix, which is a folder of Berth, except `keptNames`. Names are processed as a stream, so that
 * only a batch is in memory. Manifests are removed in a first listing: a run whose parts are being removed must not look
 * restorable.
 */
export async function removeAll(
  store: ArchiveStore,
  prefix: string,
  abort: AbortSignal,
  keptNames: ReadonlySet<string> = new Set(),
): Promise<void> {
  await removeListed(store, prefix, abort, (name) => isManifest(name) && !keptNames.has(name))
  await removeListed(store, prefix, abort, (name) => !keptNames.has(name))
}

const batchSize = 1_000

async function removeListed(store: ArchiveStore, prefix: string, abort: AbortSignal, isRemovable: (name: string) => boolean) {
  let batch: string[] = []
  const removeBatch = async () => {
    for (const name of batch) await store.remove(name, abort)
    batch = []
  }
  for await (const { name } of store.list(prefix, abort)) {
    if (!name.startsWith(prefix) || !isRemovable(name)) continue
    batch.push(name)
    if (batch.length === batchSize) await removeBatch()
  }
  await removeBatch()
}

/** Removes the manifest first: a run whose parts are being removed must not look restorable. */
export async function removeNames(store: ArchiveStore, names: readonly string[], abort: AbortSignal): Promise<void> {
  for (const name of [...names.filter(isManifest), ...names.filter((one) => !isManifest(one))]) await store.remove(name, abort)
}
