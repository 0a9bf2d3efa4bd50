import { newId } from '../../platform/db/ids.ts'
import { cronJobJson } from '../../platform/db/json-columns/tasks.ts'
import type { CronRunRow } from '../../platform/db/tables/tasks.ts'
import { Failure } from '../../platform/failure.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import type { TaskInstance } from '../deployments/index.ts'
import { beginOperation, endOperation, findAnyProject, findBySubject, lockProject, startIfReady } from '../projects/index.ts'
import { argvOf } from './command.ts'
import { findCronJob } from './cron-job-store.ts'
import { findRun, pruneRuns, transitionRun } from './cron-run-store.ts'
import { nowOf, type TasksDeps } from './deps.ts'
import { instanceOf } from './end-runs.ts'
import { blockedReason } from './request-run.ts'

/** A run in progress. */
export interface BegunRun {
  run: CronRunRow
  instance: TaskInstance
  deploymentId: string
  command: readonly string[]
  timeoutSeconds: number
  /** False: an earlier attempt may have started the instance. */
  isFirst: boolean
}

/** Marks a queued run as running, or finds the one that an earlier attempt began. Undefined: it has ended, or has to wait. */
export const beginRun = (runId: string, deps: TasksDeps): Promise<BegunRun | undefined> =>
  deps.database.transaction(async (transaction) => {
    const run = await findRun(transaction.db, runId)
    const cronJob = run && (await findCronJob(transaction.db, run.cronJobId))
    if (!run || !cronJob) return undefined
    await lockProject(transaction, run.projectId)
    const { timeoutSeconds } = cronJob
    const instance = instanceOf(run)
    if (run.status === 'running' && instance && run.deploymentId !== null)
      return { run, instance, deploymentId: run.deploymentId, command: [], timeoutSeconds, isFirst: false }
    if (run.status !== 'queued') return undefined
    const reason = blockedReason(await findAnyProject(transaction.db, run.projectId))
    if (reason) return skip(run, reason, transaction, deps)
    const target = await deps.instances.findTarget(transaction.db, run.projectId, run.environment)
    if ('reason' in target) return skip(run, target.reason, transaction, deps)
    const start = await mayStart(run, transaction, deps)
    if (start !== 'yes') return start === 'later' ? undefined : skip(run, start.refused, transaction, deps)
    const running = await transitionRun(transaction.db, run.id, 'running', {
      ...target,
      instanceId: newId('ins'),
      startedAt: nowOf(deps),
    })
    if (!running) return undefined
    const started = { run: running, instance: instanceOf(running) as TaskInstance, deploymentId: target.deploymentId }
    return { ...started, command: argvOf(cronJobJson.command(cronJob)), timeoutSeconds, isFirst: true }
  })

/** `later`: a restore or a move is in progress, and its end enqueues the run again. */
async function mayStart(
  { id, projectId, environment }: CronRunRow,
  transaction: TransactionContext,
  deps: TasksDeps,
): Promise<'yes' | 'later' | { refused: string }> {
  try {
    if (!(await findBySubject(transaction.db, id))) {
      const requested = { projectId, environment, kind: 'task', subjectId: id, isAutomatic: true } as const
      const { isWaiting } = await beginOperation(requested, transaction, deps)
      return isWaiting ? 'later' : 'yes'
    }
    return (await startIfReady(id, transaction, deps)) ? 'yes' : 'later'
  } catch (error) {
    if (error instanceof Failure) return { refused: error.message }
    throw error
  }
}

async function skip(run: CronRunRow, error: string, transaction: TransactionContext, deps: TasksDeps): Promise<undefined> {
  await transitionRun(transaction.db, run.id, 'skipped', { error, finishedAt: nowOf(deps) })
  await endOperation(run.id, transaction)
  await pruneRuns(transaction.db, run.cronJobId)
}
