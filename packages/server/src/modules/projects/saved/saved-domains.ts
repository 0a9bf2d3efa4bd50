import type { Db } from '../../../platform/db/schema.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import type { ProjectsDeps } from '../deps.ts'
import { checkKind, lockName } from '../domains/domain-checks.ts'
import { newDomain } from '../domains/domains.ts'
import { claimsOf, domainsOf, findDomain, insertDomain, makePrimary } from '../store.ts'

/** A custom domain of a saved project. */
export interface SavedDomain {
  hostname: string
  isPrimary: boolean
}

export async function saveDomains(db: Db, projectId: string): Promise<SavedDomain[]> {
  const rows = (await domainsOf(db, [projectId])).get(projectId) ?? []
  return rows.map(({ hostname, isPrimary }) => ({ hostname, isPrimary: isPrimary === 1 }))
}

type ProjectKey = Pick<ProjectRow, 'id' | 'organizationId'>

/** Whether another project has connected the host name since. */
export async function isDomainTaken(db: Db, hostname: string, project: ProjectKey): Promise<boolean> {
  const existing = await findDomain(db, project.organizationId, hostname)
  const claims = existing ? [existing] : await claimsOf(db, hostname)
  return claims.some(({ projectId }) => projectId !== project.id)
}

export const domainTakenText = (hostname: string): string => `Domain ${hostname} was not restored: another project uses it now`

/**
 * Turns the domains of a deleted project into claims again, each with a new proof token. A name that another project has
 * connected since stays with that project: a second claim could end its service. Returns a warning for each of these.
 */
export async function claimSavedDomains(
  domains: readonly SavedDomain[],
  project: ProjectKey,
  transaction: TransactionContext,
  deps: ProjectsDeps,
): Promise<string[]> {
  const warnings: string[] = []
  for (const { hostname, isPrimary } of domains) {
    await lockName(transaction, hostname)
    if (await isDomainTaken(transaction.db, hostname, project)) {
      warnings.push(domainTakenText(hostname))
      continue
    }
    const row = newDomain(project, hostname, deps)
    await insertDomain(transaction.db, row)
    if (isPrimary) await makePrimary(transaction.db, project.id, row.id)
  }
  if (domains.length > 0) await transaction.enqueue(checkKind, {}, { uniqueKey: checkKind.kind })
  return warnings
}
