import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { Failure } from '../../../platform/failure.ts'
import { job, sharedKind } from '../../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import type { ProjectsDeps } from '../deps.ts'
import { hookGroup, type RepositoryWithHook } from '../hostnames/delivery-address.ts'
import { findAnyProject, listOfRepository } from '../store.ts'
import { repositoryRef } from './project-remote.ts'

/**
 * Creates the push webhook of an imported project, so that deploy on push continues. Returns a warning where that is not
 * possible.
 */
export async function addImportWebhook(projectId: string, deps: ProjectsDeps): Promise<string | null> {
  const project = await findAnyProject(deps.database.db, projectId)
  const { gitHost } = deps.projectPorts
  if (!project?.autoDeploy || !repositoryWithHook(project) || !gitHost) return null
  const repository = repositoryRef(project, deps)
  try {
    await gitHost.ensureWebhook(project.organizationId, repository)
    return null
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return `Deploy on push does not work at the target yet: its webhook could not be added to ${repository.owner}/${repository.repo}: ${error.message}`
  }
}

/** Undefined where the source is not a repository of a git host. */
function repositoryWithHook({ organizationId, gitProvider, gitOwner, gitRepo }: ProjectRow): RepositoryWithHook | undefined {
  if (!gitProvider || !gitOwner || !gitRepo || ['git', 'local', 'upload'].includes(gitProvider)) return undefined
  return { organizationId, provider: gitProvider, owner: gitOwner, repo: gitRepo }
}

const removeKind = sharedKind<RepositoryWithHook>('projects.remove-webhook')

/**
 * Removes the webhook of the project's repository, unless another project of this instance needs it. Called when the project was
 * transferred away or its import was cancelled.
 */
export async function removeHookOf(project: ProjectRow, { enqueue }: Pick<TransactionContext, 'enqueue'>): Promise<void> {
  const repository = repositoryWithHook(project)
  if (repository) await enqueue(removeKind.of(project), repository, { groupKey: hookGroup(repository) })
}

export const removeHookJob = (deps: ProjectsDeps) =>
  job<RepositoryWithHook, unknown>(removeKind, {
    deadlineMs: 60_000,
    maxAttempts: 6,
    async run({ organizationId, ...repository }) {
      const others = await listOfRepository(deps.database.db, repository, [organizationId])
      if (others.length > 0) return
      await deps.projectPorts.gitHost?.removeWebhook(organizationId, repository).catch((error: unknown) => {
        if (!(error instanceof Failure) || error.code === 'remote_unreachable' || error.code === 'git_host_limited') throw error
        deps.log.warn(
          { organizationId, ...repository, reason: error.message },
          'projects: webhook of a transferred project not removed',
        )
      })
    },
  })
