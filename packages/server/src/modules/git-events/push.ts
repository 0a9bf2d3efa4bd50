import { Failure } from '../../platform/failure.ts'
import type { DeploymentRequest } from '../deployments/index.ts'
import type { PushDelivery } from '../git-host/index.ts'
import type { EnvironmentRow, GitEventsDeps, ProjectRow } from './deps.ts'
import { logRefusal } from './for-each-project.ts'

/** Deploys each environment that follows the branch, in each project that deploys on push. */
export async function deployPush(projects: readonly ProjectRow[], delivery: PushDelivery, deps: GitEventsDeps): Promise<void> {
  const requests = await Promise.all(projects.map((project) => requestsOf(project, delivery, deps)))
  const unqueued = await deps.deployments.deployMany(requests.flat())
  for (const { projectId, error } of unqueued)
    if (error instanceof Failure) logRefusal(projectId, error, deps)
    else throw error
}

async function requestsOf(project: ProjectRow, delivery: PushDelivery, deps: GitEventsDeps): Promise<DeploymentRequest[]> {
  if (!project.enabled || !project.autoDeploy) return []
  const { branch, commit, message, author } = delivery
  const environments = (await deps.projects.environmentsOf(project.id)).filter(
    (one) => branchOf(one, project, delivery) === branch,
  )
  return environments.map(({ slug }) => ({
    projectId: project.id,
    options: {
      trigger: 'push',
      createdBy: null,
      environment: slug,
      branch,
      commit,
      commitFacts: { message, author },
      requestKey: `push:${commit}`,
    },
  }))
}

/**
 * Production follows the project's branch, or else the repository's default one. Another environment follows only a branch that
 * it names.
 */
function branchOf({ slug, branch, pullRequest }: EnvironmentRow, project: ProjectRow, { defaultBranch }: PushDelivery) {
  if (pullRequest !== null) return null
  return branch ?? (slug === 'production' ? (project.gitBranch ?? defaultBranch ?? null) : null)
}
