import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'
import { fail } from '../../../platform/failure.ts'
import type { Bound } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { raisedBy, refuseOverQuota } from '../quotas/quotas.ts'
import { findEnvironment, findProject, type ProjectChanges, saveProject } from '../store.ts'
import { dropUpload, releaseUpload } from '../uploads/upload-claim.ts'

/** Signal of every change to a project, its domains included; `gone` when it was deleted. */
export const projectsTopic = 'projects'
export interface ProjectSignal {
  projectId: string
  gone?: true
}

/** Until the transaction ends nothing else changes the project, deletes it or starts work on it. */
export const lockProject = ({ lock }: Pick<Bound, 'lock'>, projectId: string): Promise<void> => lock(`project:${projectId}`)

/** A project that is being deleted, or moved to another instance, changes no more. */
export function refuseLeaving({ deletingSince, presence }: Pick<ProjectRow, 'deletingSince' | 'presence'>): void {
  if (deletingSince !== null) fail('conflict', { words: 'The project is being deleted' })
  if (presence !== 'here') fail('conflict', { words: 'The project is being moved: wait until that is done' })
}

/**
 * The one way to change a project: `decide` sees it as it is now, under its lock, and says what becomes of it; null leaves
 * it as it is. One that is being deleted or moved changes no more.
 */
export async function changeProject(
  { id, organizationId }: Pick<ProjectRow, 'id' | 'organizationId'>,
  deps: ProjectsDeps,
  decide: (current: ProjectRow, bound: Bound) => Promise<ProjectChanges | null> | ProjectChanges | null,
): Promise<ProjectRow> {
  try {
    return await deps.database.transaction(async (bound) => {
      await lockProject(bound, id)
      const current = (await findProject(bound.db, organizationId, id)) ?? fail('not_found')
      refuseLeaving(current)
      const changes = await decide(current, bound)
      if (!changes) return current
      bound.signal(projectsTopic, { projectId: id } satisfies ProjectSignal)
      const saved = await saveProject(bound.db, id, { ...changes, updatedAt: nowOf(deps) })
      if (sourceFields.some((field) => saved[field] !== current[field])) await leaveUploads(current, saved, bound, deps)
      const more = raisedBy(current, saved)
      if (more.length > 0) await refuseOverQuota(bound, organizationId, more, deps)
      return saved
    })
  } catch (error) {
    if (isUniqueViolation(error)) fail('slug_taken', { field: 'slug', cause: error })
    throw error
  }
}

const sourceFields = ['gitProvider', 'gitOwner', 'gitRepo', 'gitBranch', 'gitUrl', 'localPath', 'uploadSessionId'] as const

/** The newest choice counts: a source that is chosen replaces the upload that production was deployed from. */
async function leaveUploads(before: ProjectRow, after: ProjectRow, bound: Bound, deps: ProjectsDeps): Promise<void> {
  await dropUpload(bound, await findEnvironment(bound.db, before.id, 'production'), deps)
  if (before.uploadSessionId && before.uploadSessionId !== after.uploadSessionId)
    await releaseUpload(bound, before.uploadSessionId, deps)
}
