import type { ProjectBundle } from '@berth/contract'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { Failure } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import type { ProjectsDeps } from '../deps.ts'
import { lockName } from '../domains/domain-checks.ts'
import { newDomain } from '../domains/domains.ts'
import { normalizeHostname, refuseReserved } from '../domains/normalize-hostname.ts'
import { deleteDomain, domainsOf, findDomain, insertDomain, makePrimary } from '../store.ts'

/**
 * Turns the domains of a bundle into unproven claims, each with a new token: a token chosen by the bundle could equal a record
 * that another organisation has published. A name that cannot be claimed is left out, with a warning.
 */
export async function replaceDomains(
  domains: ProjectBundle['domains'],
  project: ProjectRow,
  warnings: string[],
  transaction: TransactionContext,
  deps: ProjectsDeps,
): Promise<void> {
  const requested = new Map<string, boolean>()
  for (const { hostname, primary } of domains) {
    const name = usableHostname(hostname, warnings, deps)
    if (name) requested.set(name, primary)
  }
  for (const row of (await domainsOf(transaction.db, [project.id])).get(project.id) ?? [])
    if (!requested.has(row.hostname)) await deleteDomain(transaction.db, row.id)
  let primaryId: string | null = null
  for (const [hostname, primary] of requested) {
    await lockName(transaction, hostname)
    await insertDomain(transaction.db, newDomain(project, hostname, deps))
    const row = await findDomain(transaction.db, project.organizationId, hostname)
    if (row?.projectId !== project.id)
      warnings.push(`${hostname} belongs to another project at the target and was not transferred`)
    else if (primary) primaryId = row.id
  }
  await makePrimary(transaction.db, project.id, primaryId)
}

function usableHostname(rawHostname: string, warnings: string[], deps: ProjectsDeps): string | undefined {
  try {
    const hostname = normalizeHostname(rawHostname)
    refuseReserved(hostname, deps)
    return hostname
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    warnings.push(`${rawHostname} was not transferred: ${error.message}`)
    return undefined
  }
}
