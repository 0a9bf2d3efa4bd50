import type { DomainRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import { sharedKind } from '../../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import type { ProjectsDeps } from '../deps.ts'
import { listOfRepository, type RepositoryName } from '../store.ts'
import { freeHostname, urlOf, urlSettings } from './hostnames.ts'
import { findServingClaim } from './served-domains.ts'

export interface RepositoryWithHook extends RepositoryName {
  organizationId: string
}

/** Job group of one repository's webhooks: concurrent jobs would register the webhook twice. */
export const hookGroup = ({ provider, owner, repo }: RepositoryName) => `projects.webhook:${provider}:${owner}/${repo}`

export const moveKind = sharedKind<RepositoryWithHook>('projects.move-webhook')

/**
 * The address to which a git host delivers webhooks of a repository: the webhook domain of a project that uses it, of the
 * oldest where several have one. Null: the instance's own address.
 */
export async function deliveryAddress(
  organizationId: string,
  repository: RepositoryName,
  deps: ProjectsDeps,
): Promise<string | null> {
  for (const project of await listOfRepository(deps.database.db, repository, [organizationId])) {
    const address = project.webhookDomain === null ? null : await servedAddress(project, project.webhookDomain, deps)
    if (address !== null) return address
  }
  return null
}

/** Null: the edge does not serve the host name for this project now. */
async function servedAddress(project: ProjectRow, hostname: string, deps: ProjectsDeps): Promise<string | null> {
  const { database, settings, projectPorts } = deps
  if (hostname === freeHostname(project, settings.baseDomain))
    return urlOf(hostname, projectPorts.edge?.routeStatus(hostname)?.tls ?? 'none', urlSettings(deps))
  const domain = await findServingClaim(database.db, hostname, settings)
  if (domain?.projectId !== project.id) return null
  return urlOf(hostname, projectPorts.edge?.routeStatus(hostname, domain)?.tls ?? domain.tls, urlSettings(deps))
}

/**
 * Called when a project's webhook domain is set, changed or removed, or the project is deleted: updates the webhook of its
 * repository.
 */
export async function updateProjectWebhook(project: ProjectRow, { enqueue }: Pick<TransactionContext, 'enqueue'>): Promise<void> {
  const { organizationId, gitProvider: provider, gitOwner: owner, gitRepo: repo } = project
  if (!provider || !owner || !repo) return
  const repository = { organizationId, provider, owner, repo }
  await enqueue(moveKind.of({ organizationId }), repository, { groupKey: hookGroup(repository) })
}

/** Called when a host name is served or no longer served: updates the webhook of a project that has it as webhook domain. */
export async function updateDomainWebhook(
  { projectId, hostname }: Pick<DomainRow, 'projectId' | 'hostname'>,
  transaction: TransactionContext,
): Promise<void> {
  const project = await transaction.db
    .selectFrom('projects')
    .selectAll()
    .where('id', '=', projectId)
    .where('webhookDomain', '=', hostname)
    .executeTakeFirst()
  if (project) await updateProjectWebhook(project, transaction)
}
