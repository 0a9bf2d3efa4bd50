import type { contract } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import type { ProjectsDeps } from '../deps.ts'
import { makeDomainPrimary, removeDomain, verifyDomain } from '../domains/change-domains.ts'
import { loopbackWarning } from '../domains/dns-records.ts'
import { connectDomain } from '../domains/domains.ts'
import { listDomains } from '../domains/project-domains.ts'

type Rows = Partial<Handlers<typeof contract.projects>>

/** Handlers of a project's host names. */
export function domainHandlers(deps: ProjectsDeps) {
  return {
    connectDomain: async ({ body }, context) => {
      const { domain, isNew } = await connectDomain(context.project, body.domain, deps)
      if (isNew) context.setStatus(201)
      const warning = loopbackWarning(domain.dnsRecords)
      return { data: domain, ...(warning ? { warnings: [warning] } : {}) }
    },
    listDomains: async ({ query }, { project }) => listDomains(project, query, deps),
    removeDomain: async (_, { domain }) => {
      await removeDomain(domain, deps)
    },
    verifyDomain: async (_, { domain }) => ({ data: await verifyDomain(domain, deps) }),
    makeDomainPrimary: async (_, { domain }) => ({ data: await makeDomainPrimary(domain, deps) }),
  } satisfies Rows
}
