import type { DeletionItem } from '@berth/contract'
import { findAnyProject, findBySubject, type ProjectPart, ResumeLater } from '../projects/index.ts'
import { allCronJobs } from './cron-job-store.ts'
import { removeCronJob } from './cron-jobs.ts'
import { listUnfinished } from './cron-run-store.ts'
import type { TasksDeps } from './deps.ts'
import { endRuns } from './end-runs.ts'
import { unscheduleJob } from './job-schedule.ts'
import { blockedReason, enqueueRun } from './request-run.ts'

/** The scheduled tasks of a project or environment, and how they are deleted with it. */
export const tasksPart = (deps: TasksDeps): ProjectPart => ({
  describe: 'scheduled tasks',
  previewDeletion: ({ id }) => deletionItems(id, deps),
  remove: ({ id }) => endAll(id, deps),
  resume: (projectId) => resumeWaiting(projectId, deps),
  ofEnvironment: {
    previewDeletion: ({ id }, environment) => deletionItems(id, deps, environment),
    remove: ({ id }, environment) => removeOfEnvironment(id, environment, deps),
  },
})

const deletionItems = async (projectId: string, { database }: TasksDeps, environment?: string): Promise<DeletionItem[]> =>
  (await allCronJobs(database.db, projectId, environment)).map(({ id, name }) => ({
    kind: 'scheduled task',
    id,
    name,
    sizeBytes: null,
    kept: false,
  }))

/** Ends the runs and schedules of the project. The rows are deleted with the project's own row. */
async function endAll(projectId: string, deps: TasksDeps): Promise<void> {
  const { database } = deps
  await database.transaction(async (transaction) => {
    for (const cronJob of await allCronJobs(transaction.db, projectId)) await unscheduleJob(cronJob, transaction)
  })
  await endRuns({ projectId }, 'The project was deleted', deps)
}

async function removeOfEnvironment(projectId: string, environment: string, deps: TasksDeps): Promise<void> {
  for (const cronJob of await allCronJobs(deps.database.db, projectId, environment)) await removeCronJob(cronJob, deps)
}

/** Continues runs that waited for a restore or a move; where the project has moved away, they end. */
async function resumeWaiting(projectId: string, deps: TasksDeps): Promise<void> {
  const { db } = deps.database
  const waiting = []
  for (const run of await listUnfinished(db, { projectId }))
    if ((await findBySubject(db, run.id))?.phase === 'waiting') waiting.push(run)
  const reason = waiting.length > 0 ? blockedReason(await findAnyProject(db, projectId)) : null
  if (reason) return endRuns({ projectId }, reason, deps)
  for (const run of waiting) {
    const { isRunning } = await deps.database.transaction((transaction) => enqueueRun(run, transaction))
    if (isRunning) throw new ResumeLater()
  }
}
