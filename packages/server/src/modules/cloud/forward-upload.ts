import { createReadStream } from 'node:fs'
import { fail } from '../../platform/failure.ts'
import { requireSuccess } from './cloud-answer.ts'
import type { CloudDeps } from './deps.ts'
import type { Link } from './links.ts'
import { requestCloud } from './request-cloud.ts'

/** Forwards an upload that was opened here without a project to the cloud of the project. */
export async function forwardUpload(
  { row, address }: Link,
  { sessionId, projectId }: { sessionId: string; projectId: string },
  { api, uploads }: CloudDeps,
): Promise<string | undefined> {
  const upload = await uploads.find(sessionId, row.organizationId)
  // An unknown session may be the cloud's own.
  if (!upload) return undefined
  if (upload.status !== 'received')
    fail('conflict', { field: 'uploadSessionId', message: 'This session has no upload yet. Upload the tarball first.' })
  if (upload.cloudSessionId) return upload.cloudSessionId
  const cloudSession = requireSuccess(
    await requestCloud(api, address, {
      method: 'POST',
      path: '/api/projects/folder/session',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ projectId }),
    }),
  ) as { sessionId: string }
  const cloudSessionId = String(cloudSession.sessionId)
  requireSuccess(
    await requestCloud(api, address, {
      method: 'PUT',
      path: `/api/uploads/${encodeURIComponent(cloudSessionId)}`,
      headers: { 'content-type': 'application/gzip', 'content-length': String(upload.sizeBytes) },
      body: createReadStream(uploads.file(sessionId)),
    }),
  )
  await uploads.recordCloudSession(sessionId, cloudSessionId)
  return cloudSessionId
}
