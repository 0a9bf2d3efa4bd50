import type { CronRunStatus } from '@berth/contract'
import type { CronRunRow } from '../../platform/db/tables/tasks.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import { endOperation, findAnyProject, lockProject } from '../projects/index.ts'
import { findCronJob, updateCronJob } from './cron-job-store.ts'
import { findRun, pruneRuns, transitionRun } from './cron-run-store.ts'
import { nowOf, type TasksDeps } from './deps.ts'

export interface RunEnding {
  status: Extract<CronRunStatus, 'succeeded' | 'failed' | 'timed_out'>
  exitCode: number | null
  error: string | null
}

/** Minimum time between two notifications of a task that keeps failing. */
const announceEveryMs = 60 * 60_000

/** Records the end of a run, once: a run that has ended stays as it is. */
export const finishRun = (runId: string, ending: RunEnding, deps: TasksDeps): Promise<void> =>
  deps.database.transaction(async (transaction) => {
    const found = await findRun(transaction.db, runId)
    if (!found) return
    await lockProject(transaction, found.projectId)
    const run = await transitionRun(transaction.db, runId, ending.status, { ...ending, finishedAt: nowOf(deps) })
    if (!run) return
    await endOperation(runId, transaction)
    if (run.status === 'succeeded') await updateCronJob(transaction.db, run.cronJobId, { failureAnnouncedAt: null })
    else await announceFailure(run, transaction, deps)
    await pruneRuns(transaction.db, run.cronJobId)
  })

async function announceFailure(run: CronRunRow, transaction: TransactionContext, deps: TasksDeps): Promise<void> {
  const cronJob = await findCronJob(transaction.db, run.cronJobId)
  const project = await findAnyProject(transaction.db, run.projectId)
  if (!cronJob || !project) return
  const now = nowOf(deps)
  if (cronJob.failureAnnouncedAt !== null && now - cronJob.failureAnnouncedAt < announceEveryMs) return
  await updateCronJob(transaction.db, cronJob.id, { failureAnnouncedAt: now })
  await transaction.announce('task.failed', {
    organizationId: project.organizationId,
    projectId: project.id,
    subject: `The task ${cronJob.name} of ${project.name} ${run.status === 'timed_out' ? 'timed out' : 'failed'}`,
    text: `${run.error}\n\nRead its output with berth cron logs ${cronJob.id} --run ${run.id}. While the task keeps failing, this message is sent at most once an hour.`,
    data: { cronJobId: cronJob.id, runId: run.id, exitCode: run.exitCode, status: run.status },
  })
}
