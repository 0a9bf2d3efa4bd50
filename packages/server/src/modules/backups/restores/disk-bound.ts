import { projectJson } from '../../../platform/db/json-columns/projects.ts'
import type { RestoreRow } from '../../../platform/db/tables/backups.ts'
import { findAnyProject } from '../../projects/index.ts'
import type { BackupsDeps } from '../deps.ts'
import { BackupFailed } from '../failures.ts'
import { copiesOf } from './copies.ts'

const mb = 1024 * 1024

/** Counts the bytes that a restore may still write beside the project's own data. */
export class RestoreDiskLimit {
  readonly #limitMb: number
  #leftBytes: number

  constructor(limitMb: number, usedBytes: number) {
    this.#limitMb = limitMb
    this.#leftBytes = limitMb * mb - usedBytes
  }

  /** Refuses a known size that exceeds the limit, before anything is written. */
  requireFits(bytes: number): void {
    if (bytes > this.#leftBytes) throw this.#exceeded()
  }

  /** Counts the bytes that are written, regardless of the size in the archive's index. */
  async *limitBytes(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      this.#leftBytes -= chunk.length
      if (this.#leftBytes < 0) throw this.#exceeded()
      yield chunk
    }
  }

  #exceeded(): BackupFailed {
    return new BackupFailed(
      'disk_limit',
      `The restore exceeds the disk limit of ${this.#limitMb} MB for restored copies of the project. ` +
        'Raise resources.production.diskMb, or delete an unneeded copy.',
    )
  }
}

/** Limit of copies: all copies of a project together may take as much disk as the project itself. */
export async function diskLimitOfCopies(restore: RestoreRow, deps: BackupsDeps): Promise<RestoreDiskLimit> {
  const { projectId } = restore
  const ownIds = new Set(copiesOf(restore).map(({ id }) => id))
  const volumes = await deps.data.volumes(projectId)
  const copies = volumes.filter(({ id, restoredFrom }) => restoredFrom !== null && !ownIds.has(id))
  let usedBytes = 0
  for (const { id, serverId } of copies) usedBytes += (await deps.data.runtimeFor(serverId).volumeSizeBytes(id)) ?? 0
  return new RestoreDiskLimit(await diskMbOf(projectId, deps), usedBytes)
}

/** Limit of a trial restore, which removes its files at the end. */
export const diskLimitOfTrial = async (projectId: string, deps: BackupsDeps): Promise<RestoreDiskLimit> =>
  new RestoreDiskLimit(await diskMbOf(projectId, deps), 0)

async function diskMbOf(projectId: string, { database: { db } }: BackupsDeps): Promise<number> {
  const project = await findAnyProject(db, projectId)
  if (!project) throw new BackupFailed('project_gone', 'The project was deleted')
  return projectJson.resources(project).production.diskMb
}
