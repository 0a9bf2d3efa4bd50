import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import { isManifest } from './manifest.ts'

/**
 * Removes everything below the prefix, which is a folder of ours, but `kept`. Names are taken as they come, so that no more than
 * a batch is in memory, and manifests in a first listing: a run whose parts are going must not look as if it could be restored.
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

/** The manifest first: a run whose parts are going must not look as if it could be restored. */
export async function removeNames(store: ArchiveStore, names: readonly string[], abort: AbortSignal): Promise<void> {
  for (const name of [...names.filter(isManifest), ...names.filter((one) => !isManifest(one))]) await store.remove(name, abort)
}
