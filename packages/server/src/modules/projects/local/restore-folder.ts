import { Failure } from '../../../platform/failure.ts'
import { carriedColumn, carriedParts } from '../carried-parts.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { lockProject } from '../operations/operation.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import { allowedFolder, sourceKind } from '../source.ts'
import { findAnyProject, saveProject } from '../store.ts'
import { releaseUpload } from '../uploads/upload-claim.ts'

/**
 * Makes the local folder the source of a project that came back from the cloud, unless it got another source there. The live
 * version stays the one that was live in the cloud. May be repeated.
 */
export async function restoreFolder(projectId: string, path: string, deps: ProjectsDeps): Promise<string | null> {
  const folder = await allowedFolder(path, 'localPath', deps).catch((error: unknown) => {
    if (error instanceof Failure) return error
    throw error
  })
  return deps.database.transaction(async (transaction) => {
    await lockProject(transaction, projectId)
    const row = await findAnyProject(transaction.db, projectId)
    const carried = row && carriedParts(row)
    const uploadSessionId = row?.uploadSessionId ?? null
    if (!carried || sourceKind(row) !== 'upload' || uploadSessionId === null || carried.folderUploadId !== uploadSessionId)
      return null
    if (folder instanceof Failure)
      return `The folder ${path} can no longer be used (${folder.message}). The project keeps its files as an upload.`
    await saveProject(transaction.db, projectId, {
      ...{ gitProvider: 'local', localPath: folder, uploadSessionId: null, updatedAt: nowOf(deps) },
      carried: carriedColumn({ ...carried, folderUploadId: null }),
    })
    await releaseUpload(transaction, uploadSessionId, deps)
    transaction.signal(projectsTopic, { projectId } satisfies ProjectSignal)
    return null
  })
}
