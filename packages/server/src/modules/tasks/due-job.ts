import type { CronJobRow } from '../../platform/db/tables/tasks.ts'
import { job } from '../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import { findAnyProject, lockProject } from '../projects/index.ts'
import { findCronJob } from './cron-job-store.ts'
import { insertRun, pruneRuns } from './cron-run-store.ts'
import { nowOf, type TasksDeps } from './deps.ts'
import { type DuePayload, dueKind } from './job-schedule.ts'
import { blockedReason, newRun, scheduleRun } from './request-run.ts'

/**
 * Creates the run of a task that is due. A time that passed while no control plane was running is not made up for: each outage is
 * recorded as one `missed` run, with a notification.
 */
export const dueJob = (deps: TasksDeps) =>
  job<DuePayload, unknown>(dueKind.kind, {
    deadlineMs: 60_000,
    concurrency: 4,
    async run({ cronJobId }, _, __, { scheduledFor }) {
      if (scheduledFor)
        await withActiveTask(cronJobId, deps, (task, transaction) => scheduleRun(task, scheduledFor, transaction, deps))
    },
    onMissed: ({ cronJobId }, times) =>
      withActiveTask(cronJobId, deps, (task, transaction) => recordMissed(task, times, transaction, deps)),
  })

/** Does nothing for a task that was deleted or disabled, or whose project may not run tasks. */
const withActiveTask = (
  cronJobId: string,
  deps: TasksDeps,
  work: (cronJob: CronJobRow, transaction: TransactionContext) => Promise<void>,
): Promise<void> =>
  deps.database.transaction(async (transaction) => {
    const found = await findCronJob(transaction.db, cronJobId)
    if (!found) return
    await lockProject(transaction, found.projectId)
    const cronJob = await findCronJob(transaction.db, cronJobId)
    if (cronJob?.enabled && !blockedReason(await findAnyProject(transaction.db, cronJob.projectId)))
      await work(cronJob, transaction)
  })

async function recordMissed(
  cronJob: CronJobRow,
  times: readonly Date[],
  transaction: TransactionContext,
  deps: TasksDeps,
): Promise<void> {
  const [first] = times
  if (!first) return
  const when = times.length > 1 ? `${times.length} times since ${first.toISOString()}` : `at ${first.toISOString()}`
  const error = `It was due ${when}, and Berth was not running then`
  const fields = { status: 'missed', trigger: 'schedule', scheduledFor: first.getTime(), error, finishedAt: nowOf(deps) } as const
  const run = await insertRun(transaction.db, newRun(cronJob, fields, deps))
  // The job ran before: the times are recorded and announced.
  if (!run) return
  await pruneRuns(transaction.db, cronJob.id)
  const project = await findAnyProject(transaction.db, cronJob.projectId)
  if (!project) return
  await transaction.announce('task.missed', {
    organizationId: project.organizationId,
    projectId: project.id,
    subject: `The task ${cronJob.name} of ${project.name} was missed`,
    text: `The task ${cronJob.name} of ${project.name} was due ${when}. Berth was not running then, and the task was not run. Run it now with berth cron run, or wait for its next time.`,
    data: { cronJobId: cronJob.id, runId: run.id, dueAt: times.map((time) => time.toISOString()).slice(0, 20) },
  })
}
