import type { CronRunRow } from '../../platform/db/tables/tasks.ts'
import type { TaskInstance } from '../deployments/index.ts'
import { endOperation, lockProject } from '../projects/index.ts'
import { findRun, listUnfinished, transitionRun } from './cron-run-store.ts'
import { nowOf, type TasksDeps } from './deps.ts'
import { runJobKey } from './request-run.ts'

const graceSeconds = 5

/** The instance of a run; null before its start. */
export const instanceOf = ({ instanceId, serverId }: CronRunRow): TaskInstance | null =>
  instanceId === null ? null : { instanceId, serverId }

/** Ends all runs of a project or task: queued ones are not started, and the instances of running ones are stopped. */
export async function endRuns(
  filter: { projectId: string } | { cronJobId: string },
  error: string,
  deps: TasksDeps,
): Promise<void> {
  const runs = await listUnfinished(deps.database.db, filter)
  for (const run of runs)
    await deps.database.transaction(async (transaction) => {
      await lockProject(transaction, run.projectId)
      await transaction.cancelJob({ uniqueKey: runJobKey(run.id) })
      const status = run.status === 'queued' ? 'skipped' : 'failed'
      const ended = { error, finishedAt: nowOf(deps) }
      // The run may have started since it was listed.
      const changed =
        (await transitionRun(transaction.db, run.id, status, ended)) ??
        (await transitionRun(transaction.db, run.id, 'failed', ended))
      if (changed) await endOperation(run.id, transaction)
    })
  await Promise.all(
    runs.map(async ({ id }) => {
      const run = await findRun(deps.database.db, id)
      const instance = run && instanceOf(run)
      if (instance) await deps.instances.stop(instance, graceSeconds)
    }),
  )
}
