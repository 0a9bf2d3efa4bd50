import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import { isManifest } from './manifest.ts'

/** Everything below the prefix, which is a folder of ours. */
export async function removeAll(store: ArchiveStore, prefix: string, abort: AbortSignal): Promise<void> {
  const names: string[] = []
  for await (const { name } of store.list(prefix, abort)) names.push(name)
  await removeNames(store, names, abort)
}

/** The manifest first: a run whose parts are going must not look as if it could be restored. */
export async function removeNames(store: ArchiveStore, names: readonly string[], abort: AbortSignal): Promise<void> {
  for (const name of [...names.filter(isManifest), ...names.filter((one) => !isManifest(one))]) await store.remove(name, abort)
}
