import type { ProjectDomain, ProjectRoute } from '@berth/contract'
import { pageOf } from '../../../platform/db/pages.ts'
import type { DomainRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import { proofRecord } from '../hostnames/domain-proofs.ts'
import { notSynced, routesOf, urlSettings } from '../hostnames/hostnames.ts'
import { domainsOf } from '../store.ts'
import { addressReason } from './address-check.ts'
import { loopbackWarning, recordsOf } from './dns-records.ts'

/** The free host name first, then the connected domains, oldest first. */
export async function showDomains(project: ProjectRow, deps: ProjectsDeps): Promise<ProjectDomain[]> {
  const { database, projectPorts, settings } = deps
  const domains = (await domainsOf(database.db, [project.id])).get(project.id) ?? []
  const rows = new Map(domains.map((row) => [row.hostname, row]))
  const facts = { domains, edge: projectPorts.edge, baseDomain: settings.baseDomain, urls: urlSettings(deps) }
  return routesOf(project, facts).map((route) => showDomain(route, rows.get(route.hostname), project, deps))
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

/** The free host name has no row: it needs no records and no proof. */
function showDomain(route: ProjectRoute, row: DomainRow | undefined, project: ProjectRow, deps: ProjectsDeps): ProjectDomain {
  const { hostname, kind, primary, state, tls, reason = null } = route
  const verified = !row || row.provenAt !== null
  const records = row ? recordsOf(row, project, deps) : []
  const shownState = state === 'error' ? 'error' : verified && state === 'synced' ? 'active' : 'waiting'
  // An active domain resolves already.
  const warning = shownState === 'active' ? null : loopbackWarning(records)
  return {
    ...{ hostname, kind, primary, verified, tls },
    pointsHere: row ? (row.pointsHere === null ? null : row.pointsHere === 1) : true,
    state: shownState,
    records,
    reason:
      [row ? reasonOf(route, row) : reason, row ? addressReason(row, records) : null, warning].filter(Boolean).join('. ') || null,
  }
}

/** The reason of the route; for an unverified domain without a more specific one, the record that is missing. */
function reasonOf({ state, reason }: ProjectRoute, row: DomainRow): string | null {
  const isSpecific = reason !== undefined && reason !== notSynced.reason
  if (row.provenAt !== null || isSpecific) return reason ?? null
  const { name, value } = proofRecord(row)
  const prefix = state === 'synced' ? 'Served, but not verified' : 'Not verified'
  return `${prefix}. To make it the address of the project, create the TXT record ${name} with the value ${value}`
}
