import type { Loaders } from '../../http/handler.ts'
import type { Job } from '../../platform/jobs/declare.ts'
import { findLink, ownedProjects } from '../projects/index.ts'
import type { LinksDeps } from './deps.ts'
import { linksHandlers } from './handlers.ts'
import { networkRemovalJob } from './link-network-job.ts'
import { linksPart } from './project-part.ts'

export type { LinksDeps } from './deps.ts'

/**
 * Links. A *link* gives a project the address and the credentials of a *service*, a project that was created from a template, as
 * variables, and connects both by a private network. Values are never copied: each deployment reads them from the service.
 */
export function createLinks(deps: LinksDeps) {
  const { db } = deps.database
  const loaders: Pick<Loaders, 'link'> = {
    link: async ({ id, linkId }, { organizationId }) => {
      const link = (await ownedProjects(db, organizationId, [id!])).has(id!) ? await findLink(db, linkId!) : undefined
      return link?.projectId === id ? link : undefined
    },
  }
  return {
    handlers: linksHandlers(deps),
    loaders,
    jobs: [networkRemovalJob(deps)] as Job<unknown, undefined>[],
    part: linksPart(deps),
  }
}
