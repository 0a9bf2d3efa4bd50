import type { ArchiveStore } from '../archive-store/archive-store.ts'
import type { ArchivePart } from './archive.ts'

/** Earlier parts that exist at the destination with their full size, by their content hash: they need not be stored again. */
export async function findStoredParts(
  store: ArchiveStore,
  prefix: string,
  earlier: Iterable<ArchivePart>,
  abort: AbortSignal,
): Promise<Map<string, ArchivePart>> {
  const sizes = new Map<string, number>()
  for await (const { name, sizeBytes } of store.list(prefix, abort)) sizes.set(name, sizeBytes)
  const storedParts = new Map<string, ArchivePart>()
  for (const part of earlier) if (sizes.get(part.name) === part.sizeBytes) storedParts.set(part.content, part)
  return storedParts
}
