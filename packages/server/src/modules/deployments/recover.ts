import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import { discard } from './deploy-job.ts'
import type { DeploymentsDeps } from './deps.ts'
import { listLive, transitionLive } from './live-environments.ts'
import { startAgain } from './power.ts'
import { isUp, runningUnits, stopInstances } from './run-units.ts'
import { findDeployment, listInstances } from './store.ts'

const drainMs = 30_000

/**
 * After a start: what runs is made to match what is recorded. Instances that no row speaks of are ours by their label and
 * wanted by nobody; rows that are retired, or of deployments that are over, are what a crash left of them. Gives the
 * stopping, which waits for requests that are still under way there.
 */
export async function recover(deps: DeploymentsDeps, abort: AbortSignal): Promise<() => Promise<void>> {
  const { db } = deps.database
  const running = await everyInstance(deps)
  const rows = await listInstances(db)
  const known = new Set(rows.map(({ id }) => id))
  const unknown = running.filter(({ instance }) => !known.has(instance.instanceId))
  const over: DeploymentRow[] = []
  for (const deploymentId of new Set(rows.map((row) => row.deploymentId))) {
    const deployment = await findDeployment(db, deploymentId)
    if (deployment && ['failed', 'cancelled', 'superseded'].includes(deployment.status)) over.push(deployment)
  }
  const isOver = new Set(over.map(({ id }) => id))
  // What is left of a deployment that is over is discarded with it, once the edge has left it.
  const retired = rows.filter((row) => row.state === 'retired' && !isOver.has(row.deploymentId))
  await removeOldFolders(deps)
  return async () => {
    await Promise.all(unknown.map(({ runtime, instance }) => runtime.stop(instance.instanceId, { graceSeconds: 10 }, abort)))
    await Promise.all(retired.map(({ id }) => deps.edge.drain(id, drainMs, abort).catch(() => undefined)))
    await stopInstances(retired, deps, abort)
    for (const deployment of over) await discard(deployment, deps)
  }
}

/** What every runtime has of ours, with whom to ask about it. */
async function everyInstance({ runtimes }: DeploymentsDeps) {
  const found = []
  for (const { runtime } of await runtimes.all()) for (const instance of await runtime.list()) found.push({ runtime, instance })
  return found
}

/** Working folders of deployments that are not under way any more. */
async function removeOldFolders({ workFolder, database }: DeploymentsDeps): Promise<void> {
  const folders = await readdir(workFolder).catch(() => [])
  for (const id of folders) {
    const deployment = await findDeployment(database.db, id)
    if (!deployment || !['queued', 'building', 'deploying'].includes(deployment.status))
      await rm(join(workFolder, id), { recursive: true, force: true })
  }
}

/**
 * Before the edge serves: what should run and does not is marked as waking, so that requests for it are held and not
 * refused until it does.
 */
export async function markDownAsWaking(deps: DeploymentsDeps): Promise<void> {
  const { db } = deps.database
  for (const live of await listLive(db)) {
    if (live.state !== 'live' || !live.deploymentId) continue
    const deployment = await findDeployment(db, live.deploymentId)
    if (!deployment?.artifacts) continue
    const rows = await listInstances(db, { deploymentId: deployment.id, state: 'running' })
    const areUp = await Promise.all(
      runningUnits(deployment).map(async (unit) => {
        const row = rows.find(({ service }) => service === unit.service)
        return row !== undefined && isUp(await deps.runtimes.for(row.serverId).inspect(row.id), unit)
      }),
    )
    if (areUp.includes(false)) await transitionLive(db, live, { to: 'waking' })
  }
}

/** Starts what is held. One that does not come up is tried again by the next request for it. */
export async function restartWaking(deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const held = (await listLive(deps.database.db)).filter(({ state }) => state === 'waking')
  await Promise.all(
    held.map((live) =>
      startAgain(live, ['waking'], deps, abort).catch((error: unknown) => {
        if (!abort.aborted) deps.log.warn({ err: error, projectId: live.projectId }, 'a project did not come up again')
      }),
    ),
  )
}

/** On purpose: what does not survive a stop is ended now, and started again by the next start. */
export async function stopWhatEndsWithUs(deps: DeploymentsDeps): Promise<void> {
  const rest = AbortSignal.timeout(8_000)
  for (const { runtime } of await deps.runtimes.all()) {
    if (runtime.survivesStop) continue
    await Promise.allSettled((await runtime.list()).map(({ instanceId }) => runtime.stop(instanceId, { graceSeconds: 4 }, rest)))
  }
}
