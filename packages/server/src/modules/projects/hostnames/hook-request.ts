import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { sharedKind } from '../../../platform/jobs/declare.ts'
import type { Bound } from '../../../platform/transaction.ts'
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

/** Whether a change says anything about deploy on push, be it the same as before. */
export const concernsHook = (changes: ProjectChanges): boolean => hookFields.some((field) => changes[field] !== undefined)

/** With auto-deploy on and a repository at a git host, the push hook is checked and put there by a job. */
export async function requestHook(project: ProjectRow, { enqueue }: Pick<Bound, 'enqueue'>): Promise<void> {
  const { id, organizationId, autoDeploy, gitProvider: provider, gitOwner: owner, gitRepo: repo } = project
  if (autoDeploy && provider && owner && repo)
    await enqueue(hookKind.of({ organizationId }), { projectId: id }, { groupKey: hookGroup({ provider, owner, repo }) })
}

/** The organisation has a connection to the host again: the hooks of its projects are checked. */
export async function requestHooks(
  organizationId: string,
  provider: string,
  bound: Pick<Bound, 'db' | 'enqueue'>,
): Promise<void> {
  const projects = await bound.db
    .selectFrom('projects')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('gitProvider', '=', provider as NonNullable<ProjectRow['gitProvider']>)
    .where('autoDeploy', '=', 1)
    .where('deletingSince', 'is', null)
    .where('presence', 'in', present)
    .execute()
  for (const project of projects) await requestHook(project, bound)
}
