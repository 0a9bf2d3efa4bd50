import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { sharedKind } from '../../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { type ProjectChanges, present } from '../store.ts'
import { hookGroup } from './delivery-address.ts'

export const hookKind = sharedKind<{ projectId: string }>('projects.register-webhook')

const hookFields = [
  'autoDeploy',
  'gitProvider',
  'gitOwner',
  'gitRepo',
  'gitUrl',
  'gitBranch',
] as const satisfies (keyof ProjectRow)[]

/** Whether a change names a field that the push webhook depends on, also if its value stays the same. */
export const affectsWebhook = (changes: ProjectChanges): boolean => hookFields.some((field) => changes[field] !== undefined)

/** Enqueues a check of the push webhook, for a project with auto-deploy and a repository at a git host. */
export async function enqueueWebhookCheck(project: ProjectRow, { enqueue }: Pick<TransactionContext, 'enqueue'>): Promise<void> {
  const { id, organizationId, autoDeploy, gitProvider: provider, gitOwner: owner, gitRepo: repo } = project
  if (autoDeploy && provider && owner && repo)
    await enqueue(hookKind.of({ organizationId }), { projectId: id }, { groupKey: hookGroup({ provider, owner, repo }) })
}

/** Enqueues the checks of all projects of the organisation at that host, after the organisation has connected it again. */
export async function enqueueWebhookChecks(
  organizationId: string,
  provider: string,
  transaction: Pick<TransactionContext, 'db' | 'enqueue'>,
): Promise<void> {
  const projects = await transaction.db
    .selectFrom('projects')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('gitProvider', '=', provider as NonNullable<ProjectRow['gitProvider']>)
    .where('autoDeploy', '=', 1)
    .where('deletingSince', 'is', null)
    .where('presence', 'in', present)
    .execute()
  for (const project of projects) await enqueueWebhookCheck(project, transaction)
}
