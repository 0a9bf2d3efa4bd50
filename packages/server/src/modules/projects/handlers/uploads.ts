import { type contract, tarballUpload, uploadTokenHeader } from '@berth/contract'
import type { Caller, Handlers } from '../../../http/handler.ts'
import { iso } from '../../../platform/db/columns.ts'
import type { UploadSessionRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import { showDetection } from '../local/local-folders.ts'
import { fetchStored, storeAddress } from '../uploads/stored-upload.ts'
import { signedUrl } from '../uploads/upload-address.ts'
import { openUpload, receiveUpload, scanUpload } from '../uploads/uploads.ts'

type Rows = Partial<Handlers<typeof contract.projects>>

/** Handlers of uploads, a folder as a gzipped tarball: open a session, upload, scan. */
export function uploadHandlers(deps: ProjectsDeps) {
  return {
    openUpload: async ({ body }, { caller, audit }) => {
      audit({ objectKind: 'uploadSession', made: 'upl' })
      const session = await openUpload(body ?? {}, caller, deps)
      return { data: { sessionId: session.id, expiresAt: iso(session.expiresAt), upload: await targetOf(session, caller, deps) } }
    },
    relayUpload: async ({ upload }, { uploadSession }) => ({
      data: { sessionId: uploadSession.id, ...(await receiveUpload(uploadSession, upload, deps)) },
    }),
    scanUpload: async (_, { uploadSession }) => {
      const detection = await scanUpload(await fetchStored(uploadSession, deps), deps)
      return { data: { ...showDetection(detection), gitProvider: 'upload' as const, uploadSessionId: uploadSession.id } }
    },
  } satisfies Rows
}

/**
 * The upload target. The relay is a route of self-hosted instances; the cloud service uses an object store, or a URL of its
 * own. Each contains a credential for this one upload, so a client needs no other.
 */
async function targetOf(session: UploadSessionRow, caller: Caller, deps: ProjectsDeps) {
  if (session.inStore && deps.uploadStore) return storeAddress(session, deps.uploadStore)
  const headers = { 'content-type': tarballUpload.contentType }
  if (deps.settings.mode === 'cloud') return { url: signedUrl(session, deps), method: 'PUT', headers }
  const path = `/api/projects/folder/upload/${session.id}`
  const token = await deps.streamTokens.mintForUpload(path, caller)
  return { url: `${deps.publicUrl()}${path}`, method: 'POST', headers: { ...headers, [uploadTokenHeader]: token } }
}
