import { job, sharedKind } from '../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import type { PullRequestDelivery } from '../git-host/index.ts'
import type { GitEventsDeps, ProjectRow } from './deps.ts'
import { callGitHost } from './host-errors.ts'
import { followPullRequest } from './pull-requests.ts'
import { groupOfProject } from './receive.ts'

const kind = sharedKind<{ projectId: string }>('git-events.find-pull-requests')

/** Looks for open pull requests, in the repository's job group: a delivery about one of them is handled before or after. */
export const enqueuePullRequestSearch = async (project: ProjectRow, { enqueue }: Pick<TransactionContext, 'enqueue'>) => {
  const { id: projectId } = project
  await enqueue(kind.of({ projectId }), { projectId }, { groupKey: groupOfProject(project) })
}

/** Creates the previews of pull requests that were opened before the project had previews: no delivery reports them. */
export const findPullRequestsJob = (deps: GitEventsDeps) =>
  job<{ projectId: string }, unknown>(kind, {
    deadlineMs: 10 * 60_000,
    maxAttempts: 6,
    async run({ projectId }, _deps, abort) {
      const project = await deps.projects.find(projectId)
      if (!project?.enabled || !project.previews || project.deletingSince !== null) return
      let open: PullRequestDelivery[] = []
      await callGitHost(deps, async () => {
        open = await deps.gitHost.openPullRequests(project.organizationId, deps.projects.repositoryRef(project))
      })
      for (const pullRequest of open) {
        abort.throwIfAborted()
        await followPullRequest([project], pullRequest, deps)
      }
    },
  })
