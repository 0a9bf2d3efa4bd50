import type { LinkRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import { linksTo } from '../link-store.ts'
import { linksOfEnvironment } from './load-scope.ts'
import { findProjectTemplate } from './template-store.ts'

/** The links that a deployment takes part in, for its networks. */
export interface DeployedLinks {
  /** Links to services that the deployment uses; `service` is the unit that the link's host name resolves to. */
  uses: (LinkRow & { service: string })[]
  /** Links of other projects to the deployment's project, and the unit that they connect to. */
  serves: { service: string; links: readonly LinkRow[] } | null
}

export async function findDeployedLinks(
  { projectId, environment, fromFork }: { projectId: string; environment: string; fromFork: boolean },
  deps: ProjectsDeps,
): Promise<DeployedLinks> {
  const { db } = deps.database
  const uses = []
  for (const link of await linksOfEnvironment(projectId, environment, { fromFork }, deps)) {
    const template = await findProjectTemplate(db, link.serviceProjectId)
    if (template?.service) uses.push({ ...link, service: template.service })
  }
  // Links lead to the production environment of a service.
  const links = environment === 'production' ? await linksTo(db, projectId) : []
  const service = links.length > 0 ? (await findProjectTemplate(db, projectId))?.service : undefined
  return { uses, serves: service ? { service, links } : null }
}
