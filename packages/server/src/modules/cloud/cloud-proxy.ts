import type { CloudApi } from '../../drivers/cloud-api/cloud-api.ts'
import type { CloudProxy } from '../../http/cloud-proxy.ts'
import { fail } from '../../platform/failure.ts'
import { cloudUnreachable } from './ask.ts'
import type { Links } from './links.ts'

/** How the mount asks the cloud for what is not here. */
export const createCloudProxy = (links: Links, api: CloudApi): CloudProxy => ({
  isLinked: (organizationId) => links.has(organizationId),
  // The object is kept until the link changes.
  linkOf: (organizationId) => links.of(organizationId),
  async ask(organizationId, request) {
    const link = (await links.of(organizationId)) ?? fail('not_found')
    try {
      return await api.send(link.address, request)
    } catch (error) {
      throw cloudUnreachable(error)
    }
  },
})
