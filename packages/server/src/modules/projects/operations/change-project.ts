import type { OperationKind, ProjectRow } from '../../../platform/db/tables/projects.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'
import { fail } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { affectsWebhook, enqueueWebhookCheck } from '../hostnames/hook-request.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import { increasedQuotas, refuseOverQuota } from '../quotas/quotas.ts'
import { findEnvironment, findProject, type ProjectChanges, saveProject } from '../store.ts'
import { clearEnvironmentUpload, releaseUpload } from '../uploads/upload-claim.ts'
import { lockProject, refuseOperation } from './operation.ts'

/**
 * Changes a project; no other function does. `decide` receives the current row under its lock, and returns the changes; null
 * leaves it unchanged. Refused while the project is restored, moved or deleted.
 */
export async function changeProject(
  { id, organizationId }: Pick<ProjectRow, 'id' | 'organizationId'>,
  deps: ProjectsDeps,
  decide: (current: ProjectRow, transaction: TransactionContext) => Promise<ProjectChanges | null> | ProjectChanges | null,
  { kind = 'change', isAutomatic = false }: { kind?: OperationKind; isAutomatic?: boolean } = {},
): Promise<ProjectRow> {
  try {
    return await deps.database.transaction(async (transaction) => {
      await lockProject(transaction, id)
      const current = (await findProject(transaction.db, organizationId, id)) ?? fail('not_found')
      await refuseOperation({ projectId: id, environment: null, kind, isAutomatic }, transaction, deps)
      const changes = await decide(current, transaction)
      if (!changes) return current
      transaction.signal(projectsTopic, signalOf(id, changes))
      const saved = await saveProject(transaction.db, id, { ...changes, updatedAt: nowOf(deps) })
      if (sourceFields.some((field) => saved[field] !== current[field]))
        await releaseReplacedUploads(current, saved, transaction, deps)
      if (changes.sleepMode === 'always_on') await deps.projectPorts.power?.wake(id, transaction)
      if (affectsWebhook(changes)) await enqueueWebhookCheck(saved, transaction)
      if (needsPullRequests(current, saved)) await deps.projectPorts.pullRequests?.findOpen(saved, transaction)
      const increased = increasedQuotas(current, saved)
      if (increased.length > 0) await refuseOverQuota(transaction, organizationId, increased, deps)
      return saved
    })
  } catch (error) {
    if (isUniqueViolation(error)) fail('slug_taken', { field: 'slug', cause: error })
    throw error
  }
}

/** A change of production's variables alone concerns no route. An empty change may be one of domains or environments. */
const signalOf = (projectId: string, changes: ProjectChanges): ProjectSignal =>
  Object.keys(changes).join() === 'envVersion' ? { projectId, sameRoutes: true } : { projectId }

/** Previews were enabled, or the project has another repository. */
const needsPullRequests = (before: ProjectRow, after: ProjectRow): boolean =>
  after.previews === 1 &&
  (['previews', 'gitProvider', 'gitOwner', 'gitRepo'] as const).some((field) => before[field] !== after[field])

const sourceFields = [
  ...(['gitProvider', 'gitOwner', 'gitRepo', 'gitBranch', 'gitUrl'] as const),
  ...(['localPath', 'uploadSessionId', 'image'] as const),
]

/** The newest choice applies: a chosen source replaces the upload that production was deployed from. */
async function releaseReplacedUploads(
  before: ProjectRow,
  after: ProjectRow,
  transaction: TransactionContext,
  deps: ProjectsDeps,
): Promise<void> {
  await clearEnvironmentUpload(transaction, await findEnvironment(transaction.db, before.id, 'production'), deps)
  if (before.uploadSessionId && before.uploadSessionId !== after.uploadSessionId)
    await releaseUpload(transaction, before.uploadSessionId, deps)
}
