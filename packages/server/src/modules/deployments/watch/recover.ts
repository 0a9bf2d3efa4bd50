import { readdir, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { DeploymentRow, InstanceRow, LiveEnvironmentRow } from '../../../platform/db/tables/deployments.ts'
import { noteAddress } from '../addresses.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { listLive, transitionLive } from '../live-environments.ts'
import { startByItself } from '../power/power.ts'
import { settlePredecessors } from '../run/predecessor-turns.ts'
import { isUp, runningUnits, stopInstances, wantedRows } from '../run/run-units.ts'
import { discard } from '../steps/deploy-job.ts'
import { whyAway } from '../steps/on-server.ts'
import { findDeployment, listInstances } from '../store.ts'

const drainMs = 30_000
const startsAtOnce = 2 + 2 * availableParallelism()
/** One that takes longer to come up keeps the next one waiting no longer. */
const longestTurnMs = 2_000

/**
 * After a start: what runs on this machine is made to match what is recorded. Gives the stopping, which waits for requests
 * that are still under way there.
 */
export async function recover(deps: DeploymentsDeps, abort: AbortSignal): Promise<() => Promise<void>> {
  await removeOldFolders(deps)
  return leftoversOn(null, deps, abort)
}

/** The same for a server, or for the engine of this machine, which may be away: then it is done when it is back. */
export async function recoverServer(serverId: string | null, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  try {
    const tidy = await leftoversOn(serverId, deps, abort)
    await tidy()
    if (serverId !== null) await settlePredecessors(serverId, deps, abort)
  } catch (error) {
    if (!abort.aborted) deps.log.warn({ err: error, serverId }, 'what is left on a server could not be taken away yet')
  }
}

export const serversInUse = async ({ database, predecessors }: DeploymentsDeps): Promise<string[]> => {
  const used = [...(await listInstances(database.db)), ...((await predecessors.containers?.unsettled()) ?? [])]
  return [...new Set(used.flatMap(({ serverId }) => (serverId === null ? [] : [serverId])))]
}

/**
 * Instances that no row speaks of are ours by their label and wanted by nobody; rows that are retired, or of deployments that
 * are over, are what a crash or a lost connection left of them.
 */
async function leftoversOn(serverId: string | null, deps: DeploymentsDeps, abort: AbortSignal): Promise<() => Promise<void>> {
  const { db } = deps.database
  const runtime = deps.runtimes.for(serverId)
  const running = await runtime.list()
  const all = await listInstances(db)
  const known = new Set(all.map(({ id }) => id))
  const unknown = running.filter(({ instanceId }) => !known.has(instanceId))
  const rows = all.filter((row) => row.serverId === serverId)
  const over: DeploymentRow[] = []
  for (const deploymentId of new Set(rows.map((row) => row.deploymentId))) {
    const deployment = await findDeployment(db, deploymentId)
    if (deployment && ['failed', 'cancelled', 'superseded'].includes(deployment.status)) over.push(deployment)
  }
  const isOver = new Set(over.map(({ id }) => id))
  // What is left of a deployment that is over is discarded with it, once the edge has left it.
  const retired = rows.filter((row) => row.state === 'retired' && !isOver.has(row.deploymentId))
  return async () => {
    await Promise.all(unknown.map(({ instanceId }) => runtime.stop(instanceId, { graceSeconds: 10 }, abort)))
    await Promise.all(retired.map(({ id }) => deps.edge.drain(id, drainMs, abort).catch(() => undefined)))
    await stopInstances(retired, deps, abort)
    for (const deployment of over) await discard(deployment, deps)
  }
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
    // Nobody waits for a server here: what runs there is held until the way to it is open again.
    const isHere = deployment.serverId === null
    if (isHere ? await allUp(deployment, rows, deps) : runningUnits(deployment).length === 0) continue
    await transitionLive(db, live, { to: 'waking' })
  }
}

/** Whether all of a deployment runs, asked of where it runs. Rows are brought to where their instances are now. */
async function allUp(deployment: DeploymentRow, rows: readonly InstanceRow[], deps: DeploymentsDeps): Promise<boolean> {
  const areUp = await Promise.all(
    wantedRows(runningUnits(deployment), rows).map(async ({ unit, row }) => {
      const instance = row && (await deps.runtimes.for(row.serverId).inspect(row.id))
      if (row) await noteAddress(row, instance, deps)
      return isUp(instance, unit, row)
    }),
  )
  return !areUp.includes(false)
}

/** Starts what is held, some at a time: a hundred that start at once come up later, all of them. One that does not come up is tried again by the next request for it. */
export async function restartWaking(deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const held = (await listLive(deps.database.db)).filter(({ state }) => state === 'waking')
  const starting = new Set<Promise<void>>()
  for (const live of held) {
    if (abort.aborted) break
    const start = restart(live, deps, abort)
      .catch((error: unknown) => {
        if (!abort.aborted) deps.log.warn({ err: error, projectId: live.projectId }, 'a project did not come up again')
      })
      .finally(() => starting.delete(start))
    starting.add(start)
    if (starting.size >= startsAtOnce) await Promise.race([...starting, pause(longestTurnMs, undefined, { ref: false })])
  }
  await Promise.all(starting)
}

/** What runs on a server went on running; one that is away says so, and is looked at again until it answers. */
async function restart(live: LiveEnvironmentRow, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { db } = deps.database
  const deployment = live.deploymentId ? await findDeployment(db, live.deploymentId) : undefined
  if (!deployment || deployment.serverId === null) return void (await startByItself('recover', live, ['waking'], deps, abort))
  const back = (changes: Pick<LiveEnvironmentRow, 'health' | 'healthReason'>) =>
    transitionLive(db, live, { to: 'live', from: ['waking'], deploymentId: deployment.id, changes })
  const away = await whyAway(deployment.serverId, deps, abort)
  const rows = await listInstances(db, { deploymentId: deployment.id, state: 'running' })
  if (away !== null) await back({ health: 'unhealthy', healthReason: away })
  else if (await allUp(deployment, rows, deps)) await back({ health: 'healthy', healthReason: null })
  else return void (await startByItself('recover', live, ['waking'], deps, abort))
  await deps.edge.sync()
}

/** On purpose: what does not survive a stop is ended now, and started again by the next start. */
export async function stopWhatEndsWithUs(deps: DeploymentsDeps): Promise<void> {
  // Over everything that is stopped: whoever stops the instance waits.
  const rest = AbortSignal.timeout(8_000)
  for (const { runtime } of await deps.runtimes.all()) {
    if (runtime.survivesStop) continue
    await Promise.allSettled((await runtime.list()).map(({ instanceId }) => runtime.stop(instanceId, { graceSeconds: 4 }, rest)))
  }
}
