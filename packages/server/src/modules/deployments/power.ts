import type { DeploymentRow, LiveEnvironmentRow } from '../../db/tables/deployments.ts'
import { envOf } from './deploy-job.ts'
import { type DeploymentsDeps, nowOf } from './deps.ts'
import { waitUntilHealthy } from './health.ts'
import { healthOf, runningUnits, startUnits, stopInstances } from './run-units.ts'
import { findDeployment, listInstances, listLive, noteLive } from './store.ts'

/** Routes away from everything of the project, then stops it. The edge answers for it meanwhile. */
export async function takeOffline(projectId: string, deps: DeploymentsDeps): Promise<void> {
  const { db } = deps.database
  for (const live of await listLive(db, [projectId])) await noteLive(db, live, { state: 'stopped', changedAt: nowOf(deps) })
  await deps.edge.sync()
  await stopInstances(await listInstances(db, { projectId }), deps, AbortSignal.timeout(60_000))
}

/** Starts what was live last and routes to it. */
export async function bringOnline(projectId: string, deps: DeploymentsDeps): Promise<void> {
  for (const live of await listLive(deps.database.db, [projectId])) {
    if (live.state === 'live' || live.state === 'sleeping') continue
    await startAgain(live, deps, AbortSignal.timeout(10 * 60_000))
  }
  await deps.edge.sync()
}

/** The live deployment of an environment from its artifact, with the env of its time; healthy before it is routed to. */
export async function startAgain(live: LiveEnvironmentRow, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const deployment = live.deploymentId ? await findDeployment(deps.database.db, live.deploymentId) : undefined
  if (deployment?.artifacts) await runAndCheck(deployment, deps, abort)
  await noteLive(deps.database.db, live, {
    state: 'live',
    health: 'healthy',
    healthReason: null,
    lastRequestAt: nowOf(deps),
    changedAt: nowOf(deps),
  })
  await deps.edge.sync()
}

async function runAndCheck(deployment: DeploymentRow, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const env = await envOf(deployment, deps)
  const say = (message: string) => deps.log.debug({ deploymentId: deployment.id }, message)
  const rows = await startUnits({ deployment, env, deps, abort, say })
  const units = new Map(runningUnits(deployment).map((unit) => [unit.service, unit]))
  for (const row of rows) {
    const unit = units.get(row.service)
    if (unit) await waitUntilHealthy(row, unit, healthOf(deployment, unit), { deps, abort })
  }
}
