import { randomBytes } from 'node:crypto'
import type { Domain } from '@berth/contract'
import { iso } from '../../../platform/db/columns.ts'
import { newId } from '../../../platform/db/ids.ts'
import type { DomainRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { domainStatus, freeHostname, notSynced } from '../hostnames/hostnames.ts'
import { verifyHostname } from '../hostnames/served-domains.ts'
import { changeProject } from '../operations/change-project.ts'
import { countDomains, findDomain, insertDomain, makePrimary } from '../store.ts'
import { recordsOf } from './dns-records.ts'
import { checkKind, lockName } from './domain-checks.ts'
import { normalizeHostname, refuseReserved } from './normalize-hostname.ts'

export interface ConnectedDomain {
  domain: Domain
  isNew: boolean
}

/** Adds the domain and makes it primary, in one transaction. The free host name is primary when no domain is. */
export async function connectDomain(project: ProjectRow, requested: string, deps: ProjectsDeps): Promise<ConnectedDomain> {
  const freeName = freeHostname(project, deps.settings.baseDomain)
  const hostname = requested.toLowerCase() === freeName ? freeName : normalizeHostname(requested)
  if (hostname !== freeName) refuseReserved(hostname, deps)
  let connected: AddedDomain | undefined
  await changeProject(project, deps, async (current, transaction) => {
    connected = hostname === freeName ? undefined : await addDomain(current, hostname, transaction, deps)
    await makePrimary(transaction.db, current.id, connected?.row.id ?? null)
    return {}
  })
  if (!connected) return { domain: await showFree(project, freeName, deps), isNew: false }
  const { row, notServedReason, isNew } = connected
  return { domain: showDomain({ ...row, isPrimary: 1 }, notServedReason, project, deps), isNew }
}

interface AddedDomain {
  row: DomainRow
  isNew: boolean
  /** The reason why it is not served yet; null: it is served. */
  notServedReason: string | null
}

/**
 * Any organisation may claim a name. Within one organisation, the unique host name decides between two projects that connect it
 * at once.
 */
async function addDomain(
  project: ProjectRow,
  hostname: string,
  transaction: TransactionContext,
  deps: ProjectsDeps,
): Promise<AddedDomain> {
  const { db, enqueue } = transaction
  await lockName(transaction, hostname)
  const row = newDomain(project, hostname, deps)
  const isNew = await insertDomain(db, row)
  const existing = isNew ? row : await findDomain(db, project.organizationId, hostname)
  if (existing?.projectId !== project.id) fail('domain_taken', { field: 'domain' })
  if (isNew) {
    if ((await countDomains(db, project.id)) > maxDomains) refuse('domain', `a project has at most ${maxDomains} domains`)
    await enqueue(checkKind, {}, { uniqueKey: checkKind.kind })
  }
  const { waiting } = await verifyHostname(db, hostname, deps.settings)
  return { row: existing, isNew, notServedReason: waiting.get(existing.id) ?? null }
}

const maxDomains = 100

export const newDomain = (
  project: Pick<ProjectRow, 'id' | 'organizationId'>,
  hostname: string,
  deps: ProjectsDeps,
): DomainRow => ({
  id: newId('dom'),
  projectId: project.id,
  organizationId: project.organizationId,
  hostname,
  isPrimary: 0,
  tls: deps.settings.edgeTlsPort === null ? 'none' : 'pending',
  state: 'pending',
  reason: notSynced.reason,
  proofToken: randomBytes(24).toString('base64url'),
  provenAt: null,
  nextCheckAt: nowOf(deps),
  pointsHere: null,
  resolvesTo: null,
  createdAt: nowOf(deps),
})

function showDomain(row: DomainRow, notServedReason: string | null, project: ProjectRow, deps: ProjectsDeps): Domain {
  return {
    id: row.id,
    projectId: row.projectId,
    hostname: row.hostname,
    primary: row.isPrimary === 1,
    ...domainStatus(row),
    ...(notServedReason === null ? {} : { state: 'pending', reason: notServedReason }),
    dnsRecords: recordsOf(row, project, deps),
    createdAt: iso(row.createdAt),
  }
}

/** The free host name has no row: it exists as long as the project, and its id is the project's id. */
function showFree(project: ProjectRow, hostname: string, { projectPorts }: ProjectsDeps): Domain {
  const status = projectPorts.edge?.routeStatus(hostname) ?? notSynced
  const { id, createdAt } = project
  return { id, projectId: id, hostname, primary: true, ...status, dnsRecords: [], createdAt: iso(createdAt) }
}
