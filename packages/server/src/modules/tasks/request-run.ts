import { limits } from '@berth/contract'
import type { Insertable } from 'kysely'
import type { Millis } from '../../platform/db/columns.ts'
import { newId } from '../../platform/db/ids.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import type { CronJobRow, CronRunRow, CronRunsTable } from '../../platform/db/tables/tasks.ts'
import { fail } from '../../platform/failure.ts'
import { sharedKind } from '../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import { findAnyProject, lockProject, refuseOperation } from '../projects/index.ts'
import { findCronJob } from './cron-job-store.ts'
import { insertRun, listUnfinished, pruneRuns } from './cron-run-store.ts'
import { nowOf, type TasksDeps } from './deps.ts'

export interface RunPayload {
  runId: string
}

export const runKind = sharedKind<RunPayload>('tasks.run')
export const runJobKey = (runId: string) => `${runKind.kind}:${runId}`

export const newRun = (
  { id, projectId, environment }: CronJobRow,
  fields: Pick<Insertable<CronRunsTable>, 'status' | 'trigger' | 'scheduledFor'> & { error?: string; finishedAt?: Millis },
  deps: TasksDeps,
): Insertable<CronRunsTable> => ({
  id: newId('crr'),
  cronJobId: id,
  projectId,
  environment,
  deploymentId: null,
  serverId: null,
  instanceId: null,
  logPosition: null,
  exitCode: null,
  error: null,
  createdAt: nowOf(deps),
  startedAt: null,
  finishedAt: null,
  ...fields,
})

/** Runs of a task are one group, so they never overlap. Runs of a project and of an organisation have a limited number of slots. */
export const enqueueRun = ({ id, cronJobId, projectId, trigger }: CronRunRow, transaction: TransactionContext) =>
  transaction.enqueue(
    runKind.of({ projectId }),
    { runId: id },
    {
      uniqueKey: runJobKey(id),
      groupKey: `cron-job:${cronJobId}`,
      pool: { key: `tasks:${projectId}`, limit: limits.taskRunsOfProject },
      priority: trigger === 'manual' ? 1 : 0,
    },
  )

/** The reason why no task of the project may run now; null if it may. */
export function blockedReason(project: ProjectRow | undefined): string | null {
  if (!project || project.deletingSince !== null) return 'The project is being deleted'
  if (!project.enabled) return 'The project is disabled'
  if (project.presence !== 'here' && project.presence !== 'departing')
    return 'The project was transferred to another instance. Its tasks run there.'
  return null
}

/** Requests a run now: the one that is still queued, else a new one, behind the run in progress. */
export const requestRun = (cronJobId: string, deps: TasksDeps): Promise<CronRunRow> =>
  deps.database.transaction(async (transaction) => {
    const cronJob = (await findCronJob(transaction.db, cronJobId)) ?? fail('not_found')
    const { projectId, environment } = cronJob
    await lockProject(transaction, projectId)
    const project = await findAnyProject(transaction.db, projectId)
    await refuseOperation({ projectId, environment, kind: 'task' }, transaction, deps)
    if (project?.enabled === 0) fail('project_disabled')
    const reason = blockedReason(project)
    if (reason) fail('conflict', { message: reason })
    const target = await deps.instances.findTarget(transaction.db, projectId, environment)
    if ('reason' in target) fail('conflict', { message: target.reason })
    const queued = (await listUnfinished(transaction.db, { cronJobId })).find(({ status }) => status === 'queued')
    if (queued) return queued
    const row = newRun(cronJob, { status: 'queued', trigger: 'manual', scheduledFor: null }, deps)
    const run = (await insertRun(transaction.db, row)) ?? fail('conflict')
    await enqueueRun(run, transaction)
    return run
  })

/**
 * Creates the run of a scheduled time. While a run of the task is in progress, `overlap` decides: the time is skipped, or its run
 * waits. At most one run waits, so that a task that is slower than its schedule has no growing queue.
 */
export async function scheduleRun(
  cronJob: CronJobRow,
  dueAt: Date,
  transaction: TransactionContext,
  deps: TasksDeps,
): Promise<void> {
  const scheduled = { trigger: 'schedule', scheduledFor: dueAt.getTime() } as const
  const current = await listUnfinished(transaction.db, { cronJobId: cronJob.id })
  const blocking = cronJob.overlap === 'skip' ? current[0] : current.find(({ status }) => status === 'queued')
  if (blocking) {
    const error = `The run ${blocking.id} is still ${blocking.status}`
    await insertRun(transaction.db, newRun(cronJob, { ...scheduled, status: 'skipped', error, finishedAt: nowOf(deps) }, deps))
    return pruneRuns(transaction.db, cronJob.id)
  }
  const run = await insertRun(transaction.db, newRun(cronJob, { ...scheduled, status: 'queued' }, deps))
  if (run) await enqueueRun(run, transaction)
}
