import { setTimeout as pause } from 'node:timers/promises'
import { type CloudProxy, type ForwardedAnswer, type ForwardedRequest, ProjectMovedBack } from '../../http/cloud-proxy.ts'
import { fail } from '../../platform/failure.ts'
import { findAnyProject } from '../projects/index.ts'
import type { CloudDeps } from './deps.ts'
import { enqueueForget } from './forget-job.ts'
import { forwardUpload } from './forward-upload.ts'
import type { Links } from './links.ts'
import { cloudUnreachable } from './request-cloud.ts'

/** Forwards requests to the cloud for projects that are not on this instance. */
export const createCloudProxy = (links: Links, deps: CloudDeps): CloudProxy => ({
  isLinked: (organizationId) => links.has(organizationId),
  // The same object is returned until the link changes.
  linkOf: (organizationId) => links.of(organizationId),
  async forwardUpload(organizationId, upload) {
    const link = (await links.of(organizationId)) ?? fail('not_found')
    return forwardUpload(link, upload, deps)
  },
  async requestCloud(organizationId, { projectId, ...request }) {
    const link = (await links.of(organizationId)) ?? fail('not_found')
    const answer = await deps.api.send(link.address, request).catch((error: unknown) => {
      throw cloudUnreachable(error)
    })
    if (answer.status === 404 && projectId) await refuseImporting({ organizationId, projectId }, request, answer, deps)
    const deleted = deletedProject(request, answer)
    if (deleted) await enqueueForget(deleted, deps)
    return answer
  },
})

type Sent = Omit<ForwardedRequest, 'projectId'>

const importWaitMs = 10_000

/**
 * The cloud releases a project at the end of its transfer, a moment before it is available here. A read waits for that moment and
 * is answered here. Any other request is refused, as during the whole transfer.
 */
async function refuseImporting(
  { organizationId, projectId }: { organizationId: string; projectId: string },
  { method, abort }: Sent,
  { body }: ForwardedAnswer,
  { database: { db }, transferPorts, pollMs }: CloudDeps,
): Promise<void> {
  const transfer = await transferPorts.running?.(organizationId, projectId)
  if (transfer?.direction !== 'to_self_hosted' || (transfer.phase !== 'committing' && transfer.phase !== 'settling')) return
  body.destroy()
  const giveUpAt = Date.now() + importWaitMs
  while (method === 'GET' && Date.now() < giveUpAt) {
    if ((await findAnyProject(db, projectId))?.presence === 'here') throw new ProjectMovedBack()
    await pause(pollMs, undefined, { signal: abort })
  }
  fail('work_in_progress', {
    message: `The project is being transferred to this instance (${transfer.id}). Try again when the transfer has ended.`,
  })
}

/** The id of the project that the cloud has just deleted. */
function deletedProject({ method, path }: Sent, { status }: ForwardedAnswer): string | null {
  if (method !== 'DELETE' || status >= 300) return null
  return /^\/api\/projects\/(prj_[a-z2-7]{20})(?:\?|$)/.exec(path)?.[1] ?? null
}
