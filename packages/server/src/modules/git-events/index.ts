import { startJob } from './approve.ts'
import { commentJob } from './comment-job.ts'
import type { GitEventsDeps } from './deps.ts'
import { enqueuePullRequestSearch, findPullRequestsJob } from './find-pull-requests.ts'
import { handleJob } from './handle-job.ts'
import { gitEventsHandlers } from './handlers.ts'
import { reportJob } from './report-job.ts'
import { expireJob, tidyJob, tidySchedule } from './tidy.ts'

export type { GitEventsDeps, GitHostOperations } from './deps.ts'
export { queueReports } from './report-job.ts'

/**
 * Git host events. A *delivery* is recorded once and handled by a job: a push is deployed; a *pull request* gets a *preview*, an
 * environment of its own. Jobs also report the result for a commit to the host.
 */
export const createGitEvents = (deps: GitEventsDeps) => ({
  /** The port `PullRequestSearch` of the projects module. */
  pullRequests: { findOpen: enqueuePullRequestSearch },
  handlers: gitEventsHandlers(deps),
  jobs: [
    ...[handleJob(deps), startJob(deps), reportJob(deps), commentJob(deps), tidyJob(deps), expireJob(deps)],
    findPullRequestsJob(deps),
  ],
  schedules: [tidySchedule],
})
