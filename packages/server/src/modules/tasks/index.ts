import type { Loaders } from '../../http/handler.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { Job } from '../../platform/jobs/declare.ts'
import { ownedProjects } from '../projects/index.ts'
import { allCronJobs, findCronJob } from './cron-job-store.ts'
import { findRunOf, runningInstances } from './cron-run-store.ts'
import type { TasksDeps } from './deps.ts'
import { dueJob } from './due-job.ts'
import { endRuns } from './end-runs.ts'
import { tasksHandlers } from './handlers.ts'
import { tasksPart } from './project-part.ts'
import { runJob } from './run-job.ts'

export type { TasksDeps } from './deps.ts'

/**
 * Scheduled tasks. A *task* (`cronJob` in the API) is a command with a schedule; a *run* executes it once, with the environment's
 * live version, in an instance of its own.
 */
export function createTasks(deps: TasksDeps) {
  const { db } = deps.database
  const loaders: Pick<Loaders, 'cronJob' | 'cronRun'> = {
    cronJob: async ({ id, cronJobId }, { organizationId }) => {
      const cronJob = (await ownedProjects(db, organizationId, [id!])).has(id!) ? await findCronJob(db, cronJobId!) : undefined
      return cronJob?.projectId === id ? cronJob : undefined
    },
    cronRun: ({ id }, { organizationId }) => findRunOf(db, organizationId, id!),
  }
  return {
    handlers: tasksHandlers(deps),
    loaders,
    jobs: [dueJob(deps), runJob(deps)] as Job<unknown, undefined>[],
    part: tasksPart(deps),
    /** Instances that run a task now: they have no row among the deployments' instances. */
    runningInstances: () => runningInstances(db),
    /** Ends the runs of a project that is taken offline. */
    endRuns: (projectId: string, reason: string) => endRuns({ projectId }, reason, deps),
    tasksOf: (database: Db, projectId: string) => allCronJobs(database, projectId),
  }
}
