import { domainToASCII } from 'node:url'
import type { DomainRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import { freeHostname } from '../hostnames/hostnames.ts'
import { domainsOf } from '../store.ts'

/** A host name of a project, as a path names it. */
export interface NamedDomain {
  projectId: string
  project: ProjectRow
  hostname: string
  /** null: the free host name, which has no row. */
  row: DomainRow | null
}

/** Finds a host name of the project in any spelling; undefined when it is not one of the project's. */
export async function namedDomain(
  project: ProjectRow,
  requested: string,
  { database, settings }: Pick<ProjectsDeps, 'database' | 'settings'>,
): Promise<NamedDomain | undefined> {
  const result = (hostname: string, row: DomainRow | null) => ({ projectId: project.id, project, hostname, row })
  const free = freeHostname(project, settings.baseDomain)
  // A worker answers no requests, so it has no free host name.
  if (requested.toLowerCase() === free) return project.type === 'worker' ? undefined : result(free, null)
  const hostname = domainToASCII(requested.replace(/\.$/, ''))
  const row = (await domainsOf(database.db, [project.id])).get(project.id)?.find((domain) => domain.hostname === hostname)
  return row && result(hostname, row)
}
