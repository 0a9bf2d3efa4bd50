import type { Domain } from '@berth/contract'
import { iso } from '../../db/columns.ts'
import { newId } from '../../db/ids.ts'
import type { DomainRow, ProjectRow } from '../../db/tables/projects.ts'
import type { Bound } from '../../db/transaction.ts'
import { fail, refuse } from '../../failure.ts'
import { domainStanding, freeHostname, instanceHostname, isAddress, isBelow, notTaken } from './addresses.ts'
import { changeProject } from './change-project.ts'
import { nowOf, type ProjectsDeps } from './deps.ts'
import { dnsRecordsFor, knownAddresses } from './dns-records.ts'
import { findDomain, insertDomain, makePrimary } from './store.ts'

export interface Connected {
  domain: Domain
  isNew: boolean
}

/** Adds the domain and makes it the primary one, in one transaction. The free host name becomes primary by having no other. */
export async function connectDomain(project: ProjectRow, wanted: string, deps: ProjectsDeps): Promise<Connected> {
  const hostname = wanted.toLowerCase()
  const free = freeHostname(project, deps.settings.baseDomain)
  if (hostname !== free) refuseReserved(hostname, deps)
  let connected: { row: DomainRow; isNew: boolean } | undefined
  await changeProject(project, deps, async (current, bound) => {
    connected = hostname === free ? undefined : await addDomain(current, hostname, bound, deps)
    await makePrimary(bound.db, current.id, connected?.row.id ?? null)
    return {}
  })
  if (!connected) return { domain: await showFree(project, free, deps), isNew: false }
  return { domain: showDomain({ ...connected.row, isPrimary: 1 }, project, deps), isNew: connected.isNew }
}

/** A host name of the instance or of another project is nobody's to connect. */
function refuseReserved(hostname: string, { settings, publicUrl }: ProjectsDeps): void {
  if (isAddress(hostname)) refuse('domain', 'must be a host name, not an address')
  if (hostname === instanceHostname(publicUrl())) refuse('domain', 'is where this instance itself answers')
  if (isBelow(hostname, settings.baseDomain)) refuse('domain', `lies below ${settings.baseDomain}, whose names Berth gives out`)
}

/** The unique host name decides between two who connect it at once. */
async function addDomain(project: ProjectRow, hostname: string, { db }: Bound, deps: ProjectsDeps) {
  const row: DomainRow = {
    id: newId('dom'),
    projectId: project.id,
    hostname,
    isPrimary: 0,
    tls: deps.settings.edgeTlsPort === null ? 'none' : 'pending',
    state: 'pending',
    reason: notTaken.reason,
    createdAt: nowOf(deps),
  }
  if (await insertDomain(db, row)) return { row, isNew: true }
  const known = await findDomain(db, hostname)
  if (known?.projectId !== project.id) fail('domain_taken', { field: 'domain' })
  return { row: known, isNew: false }
}

function showDomain(row: DomainRow, project: ProjectRow, deps: ProjectsDeps): Domain {
  const { baseDomain } = deps.settings
  return {
    id: row.id,
    projectId: row.projectId,
    hostname: row.hostname,
    primary: row.isPrimary === 1,
    ...domainStanding(row),
    dnsRecords: dnsRecordsFor(row.hostname, { target: freeHostname(project, baseDomain), addresses: knownAddresses(deps) }),
    createdAt: iso(row.createdAt),
  }
}

/** The free host name has no row of its own: it lives and dies with the project, whose id it goes by. */
function showFree(project: ProjectRow, hostname: string, { neighbours }: ProjectsDeps): Domain {
  const standing = neighbours.edge?.standing(hostname) ?? notTaken
  const { id, createdAt } = project
  return { id, projectId: id, hostname, primary: true, ...standing, dnsRecords: [], createdAt: iso(createdAt) }
}
