import { createHash } from 'node:crypto'
import type { ArchiveIndex, ArchivePart } from '../../../drivers/archive/archive.ts'
import { StoreFailure } from '../../../drivers/archive-store/store-failure.ts'
import type { ManifestArtifact } from '../content/manifest.ts'
import { BackupFailed } from '../failures.ts'
import { flagDamaged } from './run-store.ts'
import type { Work } from './run-work.ts'

export interface WrittenManifest {
  name: string
  sha256: string
  sizeBytes: number
}

/**
 * Every byte that the run counts on is read back from the destination and compared, also of parts that earlier runs stored:
 * what a destination says it has proves nothing, and what was whole last week may have rotted since.
 */
export async function readBack(work: Work, artifacts: readonly ManifestArtifact[], manifest: WrittenManifest): Promise<void> {
  const { store, archives, abort } = work
  for (const { index } of artifacts) {
    await archives.verify({ ...index, parts: index.parts.filter(({ reused }) => !reused) }, { store, abort })
    for (const part of index.parts) if (part.reused) await readEarlier(part, index, work)
  }
  const hash = createHash('sha256')
  for await (const chunk of store.get(manifest.name, abort)) hash.update(chunk)
  if (hash.digest('hex') !== manifest.sha256)
    throw new BackupFailed('destination_corrupt', 'The destination gave back another manifest than the one that was stored')
}

/** One that is not what it was is not counted on again: the run is done once more, and stores it anew. */
async function readEarlier(part: ArchivePart, index: ArchiveIndex, { run, store, archives, deps, abort }: Work): Promise<void> {
  try {
    await archives.verify({ ...index, parts: [part] }, { store, abort, everything: true })
  } catch (error) {
    if (!(error instanceof StoreFailure) || (error.reason !== 'corrupt' && error.reason !== 'missing')) throw error
    const harmed = await deps.database.transaction(async (bound) => {
      const runIds = await flagDamaged(bound.db, run, part.name)
      if (runIds.length > 0)
        await bound.announce('backup.unproven', {
          organizationId: run.organizationId,
          projectId: run.projectId,
          subject: `The destination damaged earlier backups of ${run.projectName}`,
          text: `${error.message}. These runs cannot be restored whole: ${runIds.join(', ')}. What was damaged is stored anew now; see to the destination.`,
          data: { policyId: run.policyId, runIds },
        })
      return runIds
    })
    // Nothing new was found out: trying again would end the same.
    if (harmed.length === 0) throw error
    deps.log.warn({ err: error, runId: run.id, harmed }, 'a destination damaged what it had; the run is done once more')
    throw new DamagedBefore(error.message, { cause: error })
  }
}

/** Not this run's failure: it is done once more. */
export class DamagedBefore extends Error {
  override readonly name = 'DamagedBefore'
}
