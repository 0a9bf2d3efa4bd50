import type { ArchiveIndex, ArchivePart } from '../../../drivers/archive/archive.ts'
import { findStoredParts } from '../../../drivers/archive/find-stored-parts.ts'
import { newId } from '../../../platform/db/ids.ts'
import { folderOf, type ManifestArtifact } from '../content/manifest.ts'
import type { SavedContent } from '../content/saved-content.ts'
import { RowProgress } from './run-progress.ts'
import { earlierParts, insertArtifact, updateRun } from './run-store.ts'
import type { RunContext } from './run-work.ts'
import { runTopic } from './start-run.ts'

export const totalOf = (content: readonly SavedContent[]): number | null =>
  content.reduce<number | null>(
    (sum, { estimatedBytes }) => (sum === null || estimatedBytes === null ? null : sum + estimatedBytes),
    0,
  )

/** Stores all content, one item after the other; equal parts of earlier runs are only referenced. */
export async function upload(content: readonly SavedContent[], work: RunContext): Promise<ManifestArtifact[]> {
  const { run, deps } = work
  const { db } = deps.database
  const earlier = await listReusableParts(work)
  const progress = new RowProgress(runTopic(run.id), totalOf(content), (bytesDone) => updateRun(db, run.id, { bytesDone }), deps)
  const artifacts: ManifestArtifact[] = []
  for (const [position, item] of content.entries()) {
    const index = await storeItem(item, position, earlier, progress, work)
    artifacts.push({ name: item.name, kind: item.kind, details: item.details, index })
    await insertArtifact(db, {
      id: newId('bkr'),
      runId: run.id,
      destinationId: run.destinationId,
      name: item.name,
      kind: item.kind,
      reused: isReused(index),
      sizeBytes: index.sizeBytes,
      sha256: index.sha256,
      index: JSON.stringify(index),
      details: JSON.stringify(item.details),
      position,
      damaged: false,
    })
  }
  await progress.waitUntilStored()
  await updateRun(db, run.id, { bytesDone: progress.bytesDone, bytesTotal: progress.bytesDone })
  return artifacts
}

export const isReused = ({ parts }: ArchiveIndex) => parts.length > 0 && parts.every(({ reused }) => reused)

async function storeItem(
  { name, extension, read }: SavedContent,
  position: number,
  earlier: ReadonlyMap<string, ArchivePart>,
  progress: RowProgress,
  { run, attempt, store, archives, abort }: RunContext,
): Promise<ArchiveIndex> {
  const before = progress.bytesDone
  const nameParts = [
    String(position).padStart(3, '0'),
    ...(attempt === null ? [] : [attempt]),
    name.replace(/[^A-Za-z0-9_-]+/g, '-'),
  ]
  const index = await archives.write(read(abort), {
    store,
    base: `${folderOf(run)}${nameParts.join('-')}`,
    extension,
    earlier,
    onProgress: ({ plainBytes }) => progress.update(before + plainBytes),
    abort,
  })
  progress.update(before + index.plainBytes)
  return index
}

/** Parts of successful runs that exist at this destination: equal content is not stored twice. */
async function listReusableParts({ run, store, deps, abort }: RunContext): Promise<ReadonlyMap<string, ArchivePart>> {
  const parts = new Map<string, ArchivePart>()
  for await (const part of earlierParts(deps.database.db, run)) if (!parts.has(part.name)) parts.set(part.name, part)
  return parts.size === 0 ? new Map() : findStoredParts(store, `${run.projectId}/`, parts.values(), abort)
}
