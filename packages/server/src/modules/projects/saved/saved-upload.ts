import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { UploadSessionRow } from '../../../platform/db/tables/projects.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { findAnyProject } from '../store.ts'
import { neverExpires } from '../uploads/upload-claim.ts'
import { UploadFiles } from '../uploads/upload-files.ts'
import { receiveUpload } from '../uploads/uploads.ts'
import { uploadIdOf } from './current-source.ts'
import type { SavedProject } from './saved-project.ts'

/** The tarball that is the source of a project, for backups and moves. */
export interface SavedUpload {
  uploadSessionId: string
  sizeBytes: number
  read(): AsyncIterable<Uint8Array>
}

/** Undefined for a project with another kind of source. */
export async function findSourceUpload(projectId: string, deps: ProjectsDeps): Promise<SavedUpload | undefined> {
  const project = await findAnyProject(deps.database.db, projectId)
  const uploadSessionId = project && (await uploadIdOf(project, deps))
  if (!uploadSessionId) return undefined
  const file = new UploadFiles(deps).of(uploadSessionId)
  const size = await sizeOf(file)
  if (size === undefined) return undefined
  return { uploadSessionId, sizeBytes: size, read: () => createReadStream(file, { highWaterMark: 64 * 1024 }) }
}

/** The upload of production. Records from before environments had uploads name only the project's. */
function savedUploadId({ project, environments }: SavedProject): string | null {
  const production = environments.find(({ slug }) => slug === 'production')
  return production?.uploadSessionId ?? project.uploadSessionId
}

/** Whether the tarball of the saved project no longer exists, as after a deletion. */
export async function isUploadMissing(saved: SavedProject, deps: ProjectsDeps): Promise<boolean> {
  const uploadSessionId = savedUploadId(saved)
  return uploadSessionId !== null && (await sizeOf(new UploadFiles(deps).of(uploadSessionId))) === undefined
}

/**
 * Stores the upload of a restored project, with the same checks as any upload. An existing tarball is kept, and no longer
 * expires.
 */
export async function restoreUpload(
  saved: SavedProject,
  organizationId: string,
  content: () => AsyncIterable<Uint8Array>,
  deps: ProjectsDeps,
): Promise<void> {
  const uploadSessionId = savedUploadId(saved)
  if (uploadSessionId === null) return
  const { id } = saved.project
  const isMissing = await isUploadMissing(saved, deps)
  const session = await deps.database.transaction(async ({ db, lock }) => {
    await lock(`upload:${uploadSessionId}`)
    const now = nowOf(deps)
    const newSession: UploadSessionRow = {
      id: uploadSessionId,
      organizationId,
      // An empty user: no client may upload to this session.
      createdBy: '',
      projectId: id,
      hints: '{}',
      status: 'open',
      declaredBytes: null,
      declaredSha256: null,
      cloudSessionId: null,
      inStore: 0,
      sizeBytes: null,
      files: null,
      scan: null,
      expiresAt: neverExpires,
      createdAt: now,
    }
    const existing = await db.selectFrom('uploadSessions').selectAll().where('id', '=', uploadSessionId).executeTakeFirst()
    if (existing && existing.organizationId !== organizationId) return undefined
    const reopened = { status: 'open' as const, declaredBytes: null, declaredSha256: null, inStore: 0 as const }
    const changes = { expiresAt: neverExpires, ...(isMissing ? reopened : {}) }
    if (existing) await db.updateTable('uploadSessions').set(changes).where('id', '=', uploadSessionId).execute()
    else await db.insertInto('uploadSessions').values(newSession).execute()
    return { ...newSession, ...existing, ...changes }
  })
  if (session && isMissing) await receiveUpload(session, content(), deps)
}

const sizeOf = (file: string): Promise<number | undefined> =>
  stat(file).then(
    ({ size }) => size,
    () => undefined,
  )
