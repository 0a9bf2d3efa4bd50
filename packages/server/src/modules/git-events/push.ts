import type { PushDelivery } from '../git-host/index.ts'
import type { EnvironmentRow, GitEventsDeps, ProjectRow } from './deps.ts'
import { forEachProject } from './for-each-project.ts'

/** A deployment of each environment that follows the branch, in each project that deploys on push. */
export const deployPush = (projects: readonly ProjectRow[], delivery: PushDelivery, deps: GitEventsDeps): Promise<void> =>
  forEachProject(projects, deps, async (project) => {
    if (!project.enabled || !project.autoDeploy) return
    const { branch, commit, message, author } = delivery
    for (const environment of await deps.projects.environmentsOf(project.id)) {
      if (followed(environment, project, delivery) !== branch) continue
      await deps.deployments.deploy(project.id, {
        trigger: 'push',
        createdBy: null,
        environment: environment.slug,
        branch,
        commit,
        commitFacts: { message: message.slice(0, longestMessage), author },
        requestKey: `push:${commit}`,
      })
    }
  })

const longestMessage = 5_000

/** Production follows the project's branch, or the repository's own; another environment only a branch that it names. */
function followed({ slug, branch, pullRequest }: EnvironmentRow, project: ProjectRow, { defaultBranch }: PushDelivery) {
  if (pullRequest !== null) return null
  return branch ?? (slug === 'production' ? (project.gitBranch ?? defaultBranch ?? null) : null)
}
