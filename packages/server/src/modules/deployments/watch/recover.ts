import { readdir, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Runtime } from '../../../drivers/runtime/runtime.ts'
import type { DeploymentRow, InstanceRow, LiveEnvironmentRow } from '../../../platform/db/tables/deployments.ts'
import { saveAddress } from '../addresses.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { listInstances } from '../instance-store.ts'
import { listLive, transitionLive } from '../live-environments.ts'
import { startAutomatically } from '../power/power.ts'
import { isUp, requiredInstances, runningUnits, stopInstances } from '../run/run-units.ts'
import { settleOldContainers } from '../run/takeover.ts'
import { discard } from '../steps/deploy-job.ts'
import { unreachableReason } from '../steps/on-server.ts'
import { findDeployment } from '../store.ts'

const drainTimeoutMs = 30_000
const maxConcurrentStarts = 2 + 2 * availableParallelism()
/** The next start begins after this time, even if this one is not up yet. */
const maxWaitMs = 2_000

/**
 * Makes the instances on this machine match the database, at startup. Returns the cleanup function, which waits for requests in
 * flight to leftover instances.
 */
export async function recover(deps: DeploymentsDeps, abort: AbortSignal): Promise<() => Promise<void>> {
  await removeOldFolders(deps)
  return findLeftovers(null, deps, abort)
}

/**
 * Makes the instances of a server, or of this machine's engine, match the database. If it is unreachable, this runs again when it
 * is back.
 */
export async function recoverServer(serverId: string | null, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  try {
    const cleanUp = await findLeftovers(serverId, deps, abort)
    await cleanUp()
    if (serverId !== null) await settleOldContainers(serverId, deps, abort)
  } catch (error) {
    if (!abort.aborted) deps.log.warn({ err: error, serverId }, 'deployments: cleanup on server failed, will retry')
  }
}

export const serversInUse = async ({ database, oldContainers }: DeploymentsDeps): Promise<string[]> => {
  const locations = [...(await listInstances(database.db)), ...((await oldContainers.containers?.listUnsettled()) ?? [])]
  return [...new Set(locations.flatMap(({ serverId }) => (serverId === null ? [] : [serverId])))]
}

/**
 * Finds instances to stop: those with Berth's label that belong to no row and to no task run, and those whose row a crash or a lost
 * connection left behind (retired, or of an ended deployment). Returns the function that stops them.
 */
async function findLeftovers(serverId: string | null, deps: DeploymentsDeps, abort: AbortSignal): Promise<() => Promise<void>> {
  const { db } = deps.database
  const runtime = deps.runtimes.for(serverId)
  const running = await runtime.list()
  const all = await listInstances(db)
  const known = new Set([...all.map(({ id }) => id), ...((await deps.guards.taskInstances?.()) ?? [])])
  const unknown = running.filter(({ instanceId }) => !known.has(instanceId))
  const rows = all.filter((row) => row.serverId === serverId && (serverId !== null || row.machineId === deps.machineId))
  const endedDeployments: DeploymentRow[] = []
  for (const deploymentId of new Set(rows.map((row) => row.deploymentId))) {
    const deployment = await findDeployment(db, deploymentId)
    if (deployment && ['failed', 'cancelled', 'superseded'].includes(deployment.status)) endedDeployments.push(deployment)
  }
  const endedIds = new Set(endedDeployments.map(({ id }) => id))
  // Instances of an ended deployment are discarded with it, once the edge no longer routes to them.
  const retired = rows.filter((row) => row.state === 'retired' && !endedIds.has(row.deploymentId))
  return async () => {
    await Promise.all(unknown.map(({ instanceId }) => runtime.stop(instanceId, { graceSeconds: 10 }, abort)))
    await Promise.all(retired.map(({ id }) => deps.edge.drain(id, drainTimeoutMs, abort).catch(() => undefined)))
    await stopInstances(retired, deps, abort)
    for (const deployment of endedDeployments) await discard(deployment, deps)
  }
}

/** Removes working folders of deployments that are no longer in progress. */
async function removeOldFolders({ workFolder, database }: DeploymentsDeps): Promise<void> {
  const folders = await readdir(workFolder).catch(() => [])
  for (const id of folders) {
    const deployment = await findDeployment(database.db, id)
    if (!deployment || !['queued', 'building', 'deploying'].includes(deployment.status))
      await rm(join(workFolder, id), { recursive: true, force: true })
  }
}

/** Marks live environments that are down as `waking`, before the edge serves, so that requests wait instead of failing. */
export async function markDownAsWaking(deps: DeploymentsDeps): Promise<void> {
  const { db } = deps.database
  for (const live of await listLive(db)) {
    if (live.state !== 'live' || !live.deploymentId) continue
    const deployment = await findDeployment(db, live.deploymentId)
    if (!deployment?.artifacts) continue
    const rows = await listInstances(db, { deploymentId: deployment.id, state: 'running' })
    // Startup does not wait for remote servers: their requests wait until the server is connected.
    const isOnThisMachine = deployment.serverId === null
    if (isOnThisMachine ? await areAllUp(deployment, rows, deps) : runningUnits(deployment).length === 0) continue
    await transitionLive(db, live, { to: 'waking' })
  }
}

/** Whether all units of a deployment are up, according to the runtime. Also updates the addresses in the rows. */
async function areAllUp(deployment: DeploymentRow, rows: readonly InstanceRow[], deps: DeploymentsDeps): Promise<boolean> {
  const areUp = await Promise.all(
    requiredInstances(runningUnits(deployment), rows).map(async ({ unit, row }) => {
      const instance = row && (await deps.runtimes.for(row.serverId).inspect(row.id))
      if (row) await saveAddress(row, instance, deps)
      return isUp(instance, unit, row)
    }),
  )
  return !areUp.includes(false)
}

/**
 * Starts waking environments, a few at a time: a hundred starts at once would delay them all. One that fails is tried again by the
 * next request for it.
 */
export async function restartWaking(deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const waking = (await listLive(deps.database.db)).filter(({ state }) => state === 'waking')
  const starting = new Set<Promise<void>>()
  for (const live of waking) {
    if (abort.aborted) break
    const start = restart(live, deps, abort)
      .catch((error: unknown) => {
        if (!abort.aborted)
          deps.log.warn({ err: error, projectId: live.projectId }, 'deployments: project not started after a restart')
      })
      .finally(() => starting.delete(start))
    starting.add(start)
    if (starting.size >= maxConcurrentStarts) await Promise.race([...starting, pause(maxWaitMs, undefined, { ref: false })])
  }
  await Promise.all(starting)
}

/**
 * Restarts one environment. On a server it usually kept running; if the server is unreachable, the environment is live but
 * unhealthy and the watch checks it again.
 */
async function restart(live: LiveEnvironmentRow, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { db } = deps.database
  const deployment = live.deploymentId ? await findDeployment(db, live.deploymentId) : undefined
  const start = () => startAutomatically('recover', live, ['waking'], deps, abort)
  if (!deployment || deployment.serverId === null) {
    await start()
    return
  }
  const setLive = (changes: Pick<LiveEnvironmentRow, 'health' | 'healthReason'>) =>
    transitionLive(db, live, { to: 'live', from: ['waking'], deploymentId: deployment.id, changes })
  const unreachable = await unreachableReason(deployment.serverId, deps, abort)
  const rows = await listInstances(db, { deploymentId: deployment.id, state: 'running' })
  if (unreachable === null && !(await areAllUp(deployment, rows, deps))) {
    await start()
    return
  }
  const isReachable = unreachable === null
  await setLive({ health: isReachable ? 'healthy' : 'unhealthy', healthReason: unreachable })
  await deps.edge.sync()
}

/** Time limit for all instances together: the operator waits for it. */
const maxStopMs = 8_000

/** Stops every instance on this machine; the next start of the control plane starts them again. Those on servers keep running. */
export async function stopLocalInstances(runtime: Runtime, graceSeconds: number): Promise<void> {
  const timeLimit = AbortSignal.timeout(maxStopMs)
  const instances = await runtime.list()
  await Promise.allSettled(instances.map(({ instanceId }) => runtime.stop(instanceId, { graceSeconds }, timeLimit)))
}
