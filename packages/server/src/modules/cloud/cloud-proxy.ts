import type { CloudProxy, ForwardedAnswer, ForwardedRequest } from '../../http/cloud-proxy.ts'
import { fail } from '../../platform/failure.ts'
import { cloudUnreachable } from './ask.ts'
import type { CloudDeps } from './deps.ts'
import { forgetSoon } from './forget-job.ts'
import type { Links } from './links.ts'
import { passUploadOn } from './pass-upload-on.ts'

/** How the mount asks the cloud for what is not here. */
export const createCloudProxy = (links: Links, deps: CloudDeps): CloudProxy => ({
  isLinked: (organizationId) => links.has(organizationId),
  // The object is kept until the link changes.
  linkOf: (organizationId) => links.of(organizationId),
  async passUploadOn(organizationId, upload) {
    const link = (await links.of(organizationId)) ?? fail('not_found')
    return passUploadOn(link, upload, deps)
  },
  async ask(organizationId, request) {
    const link = (await links.of(organizationId)) ?? fail('not_found')
    try {
      const answer = await deps.api.send(link.address, request)
      const deleted = deletedProject(request, answer)
      if (deleted) await forgetSoon(deleted, deps)
      return answer
    } catch (error) {
      throw cloudUnreachable(error)
    }
  },
})

/** The project that the cloud has just deleted. */
function deletedProject({ method, path }: ForwardedRequest, { status }: ForwardedAnswer): string | null {
  if (method !== 'DELETE' || status >= 300) return null
  return /^\/api\/projects\/(prj_[a-z2-7]{20})(?:\?|$)/.exec(path)?.[1] ?? null
}
