import { Failure } from '../../../platform/failure.ts'
import { DeployFailed } from '../deploy-failed.ts'
import type { StepContext } from '../step.ts'
import { listLiveDeployments } from '../store.ts'

export const backupDeadlineMs = 60 * 60_000

/** Backs up the project's data before this deployment, if a backup policy requires it. The first deployment has no data yet. */
export async function backUpBeforeStart({ deployment, deps, log, abort }: StepContext): Promise<void> {
  const { projectId, environment, startedAt } = deployment
  const liveDeployments = await listLiveDeployments(deps.database.db, projectId, environment)
  if (liveDeployments.length === 0) return
  try {
    await deps.guards.beforeStart?.({ projectId, environment, startedAt: startedAt ?? 0 }, (line) => log.line(line), abort)
  } catch (error) {
    // Any other error, such as a lost connection to the database, is not about the backup: the job is tried again.
    throw error instanceof Failure ? new DeployFailed('backup_failed', error.message) : error
  }
}
