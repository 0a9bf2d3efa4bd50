import { createHash } from 'node:crypto'
import type { ArchiveIndex, ArchivePart } from '../../../drivers/archive/archive.ts'
import { StoreFailure } from '../../../drivers/archive-store/store-failure.ts'
import type { ManifestArtifact } from '../content/manifest.ts'
import { BackupFailed } from '../failures.ts'
import { flagDamaged } from './run-store.ts'
import type { RunContext } from './run-work.ts'

export interface WrittenManifest {
  name: string
  sha256: string
  sizeBytes: number
}

/**
 * Reads back and compares every byte that the run relies on, also parts that earlier runs stored: a destination's own report
 * proves nothing, and stored data may have been corrupted since.
 */
export async function readBack(
  work: RunContext,
  artifacts: readonly ManifestArtifact[],
  manifest: WrittenManifest,
): Promise<void> {
  const { store, archives, abort } = work
  for (const { index } of artifacts) {
    await archives.verify({ ...index, parts: index.parts.filter(({ reused }) => !reused) }, { store, abort })
    for (const part of index.parts) if (part.reused) await verifyReusedPart(part, index, work)
  }
  const hash = createHash('sha256')
  for await (const chunk of store.get(manifest.name, abort)) hash.update(chunk)
  if (hash.digest('hex') !== manifest.sha256)
    throw new BackupFailed('destination_corrupt', 'The destination returned a manifest that differs from the stored one')
}

/** Verifies an earlier part. A damaged part is not reused again: the run is repeated, and stores it anew. */
async function verifyReusedPart(
  part: ArchivePart,
  index: ArchiveIndex,
  { run, store, archives, deps, abort }: RunContext,
): Promise<void> {
  try {
    await archives.verify({ ...index, parts: [part] }, { store, abort, everything: true })
  } catch (error) {
    if (!(error instanceof StoreFailure) || (error.reason !== 'corrupt' && error.reason !== 'missing')) throw error
    const damagedRunIds = await deps.database.transaction(async (transaction) => {
      const runIds = await flagDamaged(transaction.db, run, part.name)
      if (runIds.length > 0)
        await transaction.announce('backup.unproven', {
          organizationId: run.organizationId,
          projectId: run.projectId,
          subject: `The destination damaged earlier backups of ${run.projectName}`,
          text: `${error.message}. These runs cannot be restored completely: ${runIds.join(', ')}. The damaged data is being stored again. Check the destination.`,
          data: { policyId: run.policyId, runIds },
        })
      return runIds
    })
    // All runs with this part were flagged before: repeating the run would end the same.
    if (damagedRunIds.length === 0) throw error
    deps.log.warn({ err: error, runId: run.id, damagedRunIds }, 'backups: destination damaged stored data, repeating the run')
    throw new EarlierPartDamaged(error.message, { cause: error })
  }
}

/** An earlier run's part is damaged, which is not this run's failure: the run is repeated. */
export class EarlierPartDamaged extends Error {
  override readonly name = 'EarlierPartDamaged'
}
