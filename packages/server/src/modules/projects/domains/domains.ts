import { randomBytes } from 'node:crypto'
import type { Domain } from '@berth/contract'
import { iso } from '../../../platform/db/columns.ts'
import { newId } from '../../../platform/db/ids.ts'
import type { DomainRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { domainStatus, freeHostname, notTaken } from '../hostnames/hostnames.ts'
import { validateName } from '../hostnames/served-domains.ts'
import { changeProject } from '../operations/change-project.ts'
import { countDomains, findDomain, insertDomain, makePrimary } from '../store.ts'
import { recordsOf } from './dns-records.ts'
import { checkKind, lockName } from './domain-checks.ts'
import { hostnameOf, refuseReserved } from './wanted-hostname.ts'

export interface Connected {
  domain: Domain
  isNew: boolean
}

/** Adds the domain and makes it primary, in one transaction. The free host name is primary when no domain is. */
export async function connectDomain(project: ProjectRow, wanted: string, deps: ProjectsDeps): Promise<Connected> {
  const free = freeHostname(project, deps.settings.baseDomain)
  const hostname = wanted.toLowerCase() === free ? free : hostnameOf(wanted)
  if (hostname !== free) refuseReserved(hostname, deps)
  let connected: AddedDomain | undefined
  await changeProject(project, deps, async (current, bound) => {
    connected = hostname === free ? undefined : await addDomain(current, hostname, bound, deps)
    await makePrimary(bound.db, current.id, connected?.row.id ?? null)
    return {}
  })
  if (!connected) return { domain: await showFree(project, free, deps), isNew: false }
  const { row, missing, isNew } = connected
  return { domain: showDomain({ ...row, isPrimary: 1 }, missing, project, deps), isNew }
}

interface AddedDomain {
  row: DomainRow
  isNew: boolean
  /** The reason why it is not served yet; null: it is served. */
  missing: string | null
}

/**
 * Any organisation may claim a name. Within one organisation, the unique host name decides between two projects that connect it
 * at once.
 */
async function addDomain(
  project: ProjectRow,
  hostname: string,
  bound: TransactionContext,
  deps: ProjectsDeps,
): Promise<AddedDomain> {
  const { db, enqueue } = bound
  await lockName(bound, hostname)
  const row = newDomain(project, hostname, deps)
  const isNew = await insertDomain(db, row)
  const known = isNew ? row : await findDomain(db, project.organizationId, hostname)
  if (known?.projectId !== project.id) fail('domain_taken', { field: 'domain' })
  if (isNew) {
    if ((await countDomains(db, project.id)) > maxDomains) refuse('domain', `a project has at most ${maxDomains} domains`)
    await enqueue(checkKind, {}, { uniqueKey: checkKind.kind })
  }
  const { waiting } = await validateName(db, hostname, deps.settings)
  return { row: known, isNew, missing: waiting.get(known.id) ?? null }
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
  reason: notTaken.reason,
  proofToken: randomBytes(24).toString('base64url'),
  provenAt: null,
  nextCheckAt: nowOf(deps),
  createdAt: nowOf(deps),
})

function showDomain(row: DomainRow, missing: string | null, project: ProjectRow, deps: ProjectsDeps): Domain {
  return {
    id: row.id,
    projectId: row.projectId,
    hostname: row.hostname,
    primary: row.isPrimary === 1,
    ...domainStatus(row),
    ...(missing === null ? {} : { state: 'pending', reason: missing }),
    dnsRecords: recordsOf(row, project, deps),
    createdAt: iso(row.createdAt),
  }
}

/** The free host name has no row: it exists as long as the project, and its id is the project's id. */
function showFree(project: ProjectRow, hostname: string, { projectPorts }: ProjectsDeps): Domain {
  const standing = projectPorts.edge?.routeStatus(hostname) ?? notTaken
  const { id, createdAt } = project
  return { id, projectId: id, hostname, primary: true, ...standing, dnsRecords: [], createdAt: iso(createdAt) }
}
