import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { packFolder } from '../../../drivers/tarball/pack-folder.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { addImportWebhook, removeHookOf } from '../git/transfer-webhook.ts'
import { type Deletion, enqueueRemoval } from '../lifecycle/deletion.ts'
import { changePresence } from '../lifecycle/presence.ts'
import { restoreFolder } from '../local/restore-folder.ts'
import { allowedFolder } from '../source.ts'
import { findAnyProject } from '../store.ts'
import { UploadFiles } from '../uploads/upload-files.ts'
import { openUpload, receiveUpload } from '../uploads/uploads.ts'
import { type DescribedProject, describeProject, type SourceFiles } from './export-project.ts'
import { type ImportResult, type ProjectImport, recordImport } from './import-project.ts'

/** Functions that the transfers module uses to export and import a project: its rows belong to this module. */
export interface ProjectTransfers {
  describe(projectId: string): Promise<DescribedProject | undefined>
  /** Returns a gzip-compressed tar. */
  readFiles(files: NonNullable<SourceFiles>, abort: AbortSignal): Promise<AsyncIterable<Uint8Array>>
  /** Stores the files with the same checks as an upload. Returns the session id. */
  storeFiles(tarball: AsyncIterable<Uint8Array>, owner: { organizationId: string; userId: string }): Promise<string>
  recordImport(projectImport: ProjectImport): Promise<ImportResult>
  /** False when the transition is not allowed. */
  changePresence(projectId: string, to: ProjectRow['presence'], transaction: TransactionContext): Promise<boolean>
  /** Removes everything of a project whose import did not complete. */
  discardImport(projectId: string, transaction: TransactionContext): Promise<void>
  /** Creates the push webhook of an imported project; returns a warning where it cannot. */
  addWebhook(projectId: string): Promise<string | null>
  /** Makes the local folder the source again; returns a warning where it cannot, else null. */
  restoreFolder(projectId: string, path: string): Promise<string | null>
  /** Removes an expired kept copy, with its volumes. */
  removeCopy(projectId: string): Promise<void>
}

export function projectTransfers(deps: ProjectsDeps, deletion: Pick<Deletion, 'removeKept'>): ProjectTransfers {
  const { db } = deps.database
  return {
    describe: (projectId) => describeProject(projectId, deps),
    async readFiles(files, abort) {
      if (files.kind === 'upload')
        return createReadStream(new UploadFiles(deps).of(files.sessionId), { signal: abort }) as Readable
      return packFolder(await allowedFolder(files.path, 'localPath', deps), { abort })
    },
    async storeFiles(tarball, owner) {
      const session = await openUpload({}, owner, deps)
      await receiveUpload(session, tarball, deps)
      return session.id
    },
    recordImport: (projectImport) => recordImport(projectImport, deps),
    changePresence: (projectId, to, transaction) => changePresence(projectId, to, transaction, deps),
    discardImport: async (projectId, transaction) => {
      const project = await findAnyProject(transaction.db, projectId)
      if (!project || project.deletingSince !== null) return
      if (project.presence !== 'arriving' && project.presence !== 'landing') fail('conflict')
      await removeHookOf(project, transaction)
      await enqueueRemoval(projectId, { deleteVolumes: true }, nowOf(deps), transaction)
    },
    addWebhook: (projectId) => addImportWebhook(projectId, deps),
    restoreFolder: (projectId, path) => restoreFolder(projectId, path, deps),
    async removeCopy(projectId) {
      const project = await findAnyProject(db, projectId)
      if (project?.presence === 'departed') await deletion.removeKept(project)
    },
  }
}
