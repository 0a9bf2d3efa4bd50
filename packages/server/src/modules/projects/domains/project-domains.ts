import type { ProjectDomain, ProjectRoute } from '@berth/contract'
import { pageOf } from '../../../platform/db/pages.ts'
import type { DomainRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import { proofRecord } from '../hostnames/domain-proofs.ts'
import { notTaken, routesOf, urlSettings } from '../hostnames/hostnames.ts'
import { domainsOf } from '../store.ts'
import { recordsOf } from './dns-records.ts'

/** The free host name first, then the connected domains, oldest first. */
export async function showDomains(project: ProjectRow, deps: ProjectsDeps): Promise<ProjectDomain[]> {
  const { database, projectPorts, settings } = deps
  const domains = (await domainsOf(database.db, [project.id])).get(project.id) ?? []
  const rows = new Map(domains.map((row) => [row.hostname, row]))
  const facts = { domains, edge: projectPorts.edge, baseDomain: settings.baseDomain, urls: urlSettings(deps) }
  return routesOf(project, facts).map((route) => {
    const row = rows.get(route.hostname)
    return row ? showConnected(route, row, project, deps) : showFree(route)
  })
}

/** Returns one page of `showDomains`. */
export async function listDomains(
  project: ProjectRow,
  query: { limit?: number; cursor?: string },
  deps: ProjectsDeps,
): Promise<{ data: ProjectDomain[]; nextCursor: string | null }> {
  const items = (await showDomains(project, deps)).map((domain) => ({ id: domain.hostname, domain }))
  const { rows, nextCursor } = pageOf(items, query)
  return { data: rows.map(({ domain }) => domain), nextCursor }
}

const showFree = ({ hostname, kind, primary, state, tls, reason }: ProjectRoute): ProjectDomain => ({
  ...{ hostname, kind, primary, verified: true, tls, records: [], reason: reason ?? null },
  state: state === 'synced' ? 'active' : state === 'error' ? 'error' : 'waiting',
})

function showConnected(route: ProjectRoute, row: DomainRow, project: ProjectRow, deps: ProjectsDeps): ProjectDomain {
  const { hostname, kind, primary, state, tls } = route
  const verified = row.provenAt !== null
  return {
    ...{ hostname, kind, primary, verified, tls },
    state: state === 'error' ? 'error' : verified && state === 'synced' ? 'active' : 'waiting',
    records: recordsOf(row, project, deps),
    reason: reasonOf(route, row),
  }
}

/** The reason of the route; for an unverified domain without a more specific one, the record that is missing. */
function reasonOf({ state, reason }: ProjectRoute, row: DomainRow): string | null {
  const isSpecific = reason !== undefined && reason !== notTaken.reason
  if (row.provenAt !== null || isSpecific) return reason ?? null
  const { name, value } = proofRecord(row)
  const served = state === 'synced' ? 'Served, but not verified' : 'Not verified'
  return `${served}. To make it the address of the project, create the TXT record ${name} with the value ${value}`
}
