import { terminalRun } from '@berth/contract'
import type { RunRow } from '../../../platform/db/tables/backups.ts'
import { DeployFailed } from '../../deployments/index.ts'
import type { BackupsDeps } from '../deps.ts'
import { allPolicies } from '../policy-store.ts'
import { allRuns, findRun } from './run-store.ts'
import { queueRun, runTopic } from './start-run.ts'

/** The facts of a deployment that a run before it needs. */
export interface SavedDeployment {
  projectId: string
  environment: string
  /** Milliseconds since 1970. */
  startedAt: number
}

/** Poll interval of the row, since signals may be lost. */
const pollIntervalMs = 2_000

/**
 * Runs the project's policies with `beforeDeploy`, before a deployment changes the running workload. Rejects with a message
 * when a run did not succeed. A deployment that is resumed after a crash resumes its runs, too.
 */
export async function runBeforeDeploy(
  { projectId, environment, startedAt }: SavedDeployment,
  report: (line: string) => void,
  abort: AbortSignal,
  deps: BackupsDeps,
): Promise<void> {
  if (environment !== 'production') return
  const policies = (await allPolicies(deps.database.db, projectId)).filter(({ enabled, beforeDeploy }) => enabled && beforeDeploy)
  for (const policy of policies) {
    const earlier = (await allRuns(deps.database.db, projectId)).findLast(
      (run) => run.policyId === policy.id && run.trigger === 'pre_deploy' && run.createdAt >= startedAt,
    )
    const run =
      earlier ??
      (await deps.database.transaction((transaction) =>
        queueRun(policy, { trigger: 'pre_deploy', createdBy: null }, transaction, deps),
      ))
    report(`Backing up before the deployment with policy ${policy.id}: run ${run.id}`)
    const ended = await waitUntilEnded(run.id, deps, abort)
    if (ended?.status !== 'succeeded')
      throw new DeployFailed(
        'backup_failed',
        `The backup before the deployment failed: ${ended?.errorMessage ?? 'it was cancelled'}. Fix the cause, or set beforeDeploy of policy ${policy.id} to false.`,
      )
  }
}

async function waitUntilEnded(runId: string, { database }: BackupsDeps, abort: AbortSignal): Promise<RunRow | undefined> {
  for (;;) {
    abort.throwIfAborted()
    const { promise: changed, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, pollIntervalMs)
    const unsubscribe = database.signals.subscribe(runTopic(runId), () => resolve())
    const onAbort = () => resolve()
    abort.addEventListener('abort', onAbort, { once: true })
    try {
      const run = await findRun(database.db, runId)
      if (!run || terminalRun.has(run.status)) return run
      await changed
    } finally {
      clearTimeout(timer)
      unsubscribe()
      abort.removeEventListener('abort', onAbort)
    }
  }
}
