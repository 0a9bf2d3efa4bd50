import type { ProjectDomain } from '@berth/contract'
import { fail } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import type { ProjectsDeps } from '../deps.ts'
import { updateDomainWebhook, updateProjectWebhook } from '../hostnames/delivery-address.ts'
import { findServingClaim } from '../hostnames/served-domains.ts'
import { changeProject } from '../operations/change-project.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import { refuseDeleting } from '../refuse-deleting.ts'
import { deleteDomain, makePrimary } from '../store.ts'
import { checkName, checkSoon, lockName } from './domain-checks.ts'
import type { NamedDomain } from './named-domain.ts'
import { showDomains } from './project-domains.ts'

/**
 * Removes a claim. The host name goes to the next claim of another organisation, if that may be served. Route rules of the host
 * name stay: they apply again when the domain is added again.
 */
export async function removeDomain({ project, hostname, row }: NamedDomain, deps: ProjectsDeps): Promise<void> {
  if (!row)
    fail('conflict', { message: `${hostname} is the free address of the project and cannot be removed. It follows the slug.` })
  await changeProject(project, deps, async (current, transaction) => {
    await lockName(transaction, hostname)
    if (!(await deleteDomain(transaction.db, row.id))) fail('not_found')
    await serveNextClaim(hostname, transaction, deps)
    if (current.webhookDomain !== hostname) return {}
    await updateProjectWebhook(current, transaction)
    return { webhookDomain: null }
  })
}

/** Serves the next claim, and checks the remaining ones soon: one of them may be provable only now. */
async function serveNextClaim(hostname: string, transaction: TransactionContext, deps: ProjectsDeps): Promise<void> {
  await checkSoon(hostname, transaction, deps)
  const next = await findServingClaim(transaction.db, hostname, deps.settings)
  if (!next) return
  await updateDomainWebhook(next, transaction)
  transaction.signal(projectsTopic, { projectId: next.projectId } satisfies ProjectSignal)
}

/** Marks the host name as primary. An unverified domain can be primary: the project's `url` follows once it is verified. */
export async function makeDomainPrimary(domain: NamedDomain, deps: ProjectsDeps): Promise<ProjectDomain> {
  await changeProject(domain.project, deps, async (current, { db }) => {
    if (!(await makePrimary(db, current.id, domain.row?.id ?? null))) fail('not_found')
    return {}
  })
  return showOne(domain, deps)
}

/** The client waits for the response. */
const lookupTimeoutMs = 5_000

/** Looks up the TXT record and the address now, and sends the routes to the edge, so that the response shows the result of both. */
export async function verifyDomain(domain: NamedDomain, deps: ProjectsDeps): Promise<ProjectDomain> {
  refuseDeleting(domain.project)
  const hasAnswer = domain.row === null || (await checkName(domain.hostname, deps, AbortSignal.timeout(lookupTimeoutMs)))
  await deps.projectPorts.edge?.sync(domain.projectId)
  const shown = await showOne(domain, deps)
  if (hasAnswer || shown.verified) return shown
  return { ...shown, reason: 'The name servers did not answer. Berth checks again automatically.' }
}

async function showOne({ project, hostname }: NamedDomain, deps: ProjectsDeps): Promise<ProjectDomain> {
  return (await showDomains(project, deps)).find((domain) => domain.hostname === hostname) ?? fail('not_found')
}
