import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import { environmentHostname, serviceHostname } from '../hostnames/hostnames.ts'
import { allEnvironments, domainsOf } from '../store.ts'

/** Every host name that the edge serves for a project: the free ones of its environments and services, and its domains. */
export async function projectHostnames(project: ProjectRow, deps: ProjectsDeps): Promise<string[]> {
  const { database, projectPorts, settings } = deps
  const domains = (await domainsOf(database.db, [project.id])).get(project.id) ?? []
  const running = (await projectPorts.running?.states([project.id]))?.get(project.id)
  const labels = (running?.serviceRoutes ?? []).map(({ label }) => label)
  const environmentHosts = (await allEnvironments(database.db, project.id)).map(({ slug }) =>
    environmentHostname(project, slug, settings.baseDomain),
  )
  const serviceHosts = environmentHosts.flatMap((host) => labels.map((label) => serviceHostname(label, host)))
  return [...environmentHosts, ...serviceHosts, ...domains.map(({ hostname }) => hostname)]
}
