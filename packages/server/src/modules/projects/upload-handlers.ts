import type { contract } from '@berth/contract'
import { iso } from '../../db/columns.ts'
import { fail } from '../../failure.ts'
import type { Handlers } from '../../http/handler.ts'
import type { ProjectsDeps } from './deps.ts'
import { showDetection } from './show-detection.ts'
import { openUpload, receiveUpload, scanUpload } from './uploads.ts'

type UploadHandlers = Pick<Handlers<typeof contract.projects>, 'openUpload' | 'relayUpload' | 'scanUpload'>

/** A folder sent as a gzipped tarball: a session, the bytes, a look at what is in them. */
export function uploadHandlers(deps: ProjectsDeps): UploadHandlers {
  return {
    openUpload: async ({ body }, { caller, audit }) => {
      // The relay is for self-hosted instances; where a cloud service's uploads go is not built.
      if (deps.settings.mode === 'cloud') fail('not_built_yet', { words: 'Uploads to the cloud service are not built yet' })
      const { id, expiresAt } = await openUpload(body ?? {}, caller, deps)
      audit({ objectKind: 'uploadSession', objectId: id })
      return { data: { sessionId: id, expiresAt: iso(expiresAt), upload: uploadTarget(id, deps) } }
    },
    relayUpload: async ({ upload }, { uploadSession }) => ({
      data: { sessionId: uploadSession.id, ...(await receiveUpload(uploadSession, upload, deps)) },
    }),
    scanUpload: async (_, { uploadSession }) => ({ data: showDetection(await scanUpload(uploadSession, deps)) }),
  }
}

const uploadTarget = (sessionId: string, { publicUrl }: ProjectsDeps) => ({
  url: `${publicUrl()}/api/projects/folder/upload/${sessionId}`,
  method: 'POST',
  headers: { 'content-type': 'application/gzip' },
})
