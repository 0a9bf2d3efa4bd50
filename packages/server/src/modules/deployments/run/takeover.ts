import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import type { DeploymentsDeps } from '../deps.ts'
import type { Unit } from '../plan/deployed.ts'
import { listInProgress, listLiveDeployments } from '../store.ts'
import type { StartContext } from './run-parts.ts'

type DeploymentTarget = Pick<DeploymentRow, 'projectId' | 'environment'>

/** Serializes stops and starts of old containers: one must not run beside its replacement on the same data. */
const withLock = <T>(
  { projectId }: Pick<DeploymentTarget, 'projectId'>,
  { locks }: DeploymentsDeps,
  work: () => Promise<T>,
  abort: AbortSignal,
) => locks.run(`old-containers:${projectId}`, work, abort)

export const stopForTakeover = async ({ service }: Unit, { deployment, deps, report, abort }: StartContext): Promise<void> => {
  const { containers } = deps.oldContainers
  if (containers) await withLock(deployment, deps, () => containers.stopForTakeover(deployment, service, report, abort), abort)
}

/** Starts the old containers again, unless a deployment of the project is live: both must not run on the same data. */
export async function rollbackTakeover(target: DeploymentTarget, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { containers } = deps.oldContainers
  if (!containers) return
  await withLock(
    target,
    deps,
    async () => {
      const live = await listLiveDeployments(deps.database.db, target.projectId, target.environment)
      if (live.length === 0) await containers.rollbackTakeover(target, abort)
    },
    abort,
  )
}

/**
 * Settles adopted containers after a crash or a lost server. Stops them where a deployment is live, else starts them again. A
 * deployment in progress handles its own.
 */
export async function settleOldContainers(serverId: string, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { containers } = deps.oldContainers
  const onServer = ((await containers?.listUnsettled()) ?? []).filter((one) => one.serverId === serverId)
  const { db } = deps.database
  for (const { projectId } of onServer) {
    const target = { projectId, environment: 'production' }
    await withLock(
      target,
      deps,
      async () => {
        if ((await listInProgress(db, projectId, target.environment)).length > 0) return
        const [live] = await listLiveDeployments(db, projectId, target.environment)
        if (live) await containers?.stopOldContainers(live, () => undefined, abort)
        else await containers?.rollbackTakeover(target, abort)
      },
      abort,
    )
  }
}
