import { setTimeout as pause } from 'node:timers/promises'
import { type CloudProxy, type ForwardedAnswer, type ForwardedRequest, ProjectCameBack } from '../../http/cloud-proxy.ts'
import { fail } from '../../platform/failure.ts'
import { findAnyProject } from '../projects/index.ts'
import { cloudUnreachable } from './ask.ts'
import type { CloudDeps } from './deps.ts'
import { forgetSoon } from './forget-job.ts'
import type { Links } from './links.ts'
import { passUploadOn } from './pass-upload-on.ts'
import { underWay } from './transfers/transfer-store.ts'

/** Forwards requests to the cloud for projects that are not on this instance. */
export const createCloudProxy = (links: Links, deps: CloudDeps): CloudProxy => ({
  isLinked: (organizationId) => links.has(organizationId),
  // The object stays the same until the link changes.
  linkOf: (organizationId) => links.of(organizationId),
  async passUploadOn(organizationId, upload) {
    const link = (await links.of(organizationId)) ?? fail('not_found')
    return passUploadOn(link, upload, deps)
  },
  async ask(organizationId, { projectId, ...request }) {
    const link = (await links.of(organizationId)) ?? fail('not_found')
    const answer = await deps.api.send(link.address, request).catch((error: unknown) => {
      throw cloudUnreachable(error)
    })
    if (answer.status === 404 && projectId) await refuseArriving({ organizationId, projectId }, request, answer, deps)
    const deleted = deletedProject(request, answer)
    if (deleted) await forgetSoon(deleted, deps)
    return answer
  },
})

type Sent = Omit<ForwardedRequest, 'projectId'>

const arrivalWaitMs = 10_000

/**
 * The cloud releases a project, at the end of a move to this instance, a moment before it is available here. A read waits for
 * that moment and is served here; any other request is refused, as during the whole move.
 */
async function refuseArriving(
  { organizationId, projectId }: { organizationId: string; projectId: string },
  { method, abort }: Sent,
  { body }: ForwardedAnswer,
  { database: { db }, retryLimits }: CloudDeps,
): Promise<void> {
  const move = await underWay(db, organizationId, projectId)
  if (move?.direction !== 'to_self_hosted' || (move.phase !== 'committing' && move.phase !== 'settling')) return
  body.destroy()
  const giveUpAt = Date.now() + arrivalWaitMs
  while (method === 'GET' && Date.now() < giveUpAt) {
    if ((await findAnyProject(db, projectId))?.presence === 'here') throw new ProjectCameBack()
    await pause(retryLimits.pollMs, undefined, { signal: abort })
  }
  fail('work_in_progress', {
    words: `The project is being transferred to this instance (${move.id}). Try again when the transfer has ended.`,
  })
}

/** The id of the project that the cloud has just deleted. */
function deletedProject({ method, path }: Sent, { status }: ForwardedAnswer): string | null {
  if (method !== 'DELETE' || status >= 300) return null
  return /^\/api\/projects\/(prj_[a-z2-7]{20})(?:\?|$)/.exec(path)?.[1] ?? null
}
