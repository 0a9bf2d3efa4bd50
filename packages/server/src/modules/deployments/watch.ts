import type { Instance } from '../../drivers/runtime/runtime.ts'
import { ServerAway } from '../../drivers/shell/ssh/server-away.ts'
import type { DeploymentRow, LiveEnvironmentRow } from '../../platform/db/tables/deployments.ts'
import { noteAddress } from './addresses.ts'
import type { DeploymentsDeps } from './deps.ts'
import { hasDoneItsWork } from './health.ts'
import { listLive, updateLive } from './live-environments.ts'
import type { Unit } from './plan.ts'
import { startAgain } from './power.ts'
import { healthOf, runningUnits } from './run-units.ts'
import { tell } from './sleep.ts'
import { findDeployment, listInstances, placesOf } from './store.ts'

const failuresBeforeAlarm = 3

/** What earlier looks have seen. */
interface Memory {
  /** How often in a row an environment was not well. */
  failures: Map<string, number>
  /** How often an instance had been restarted, by the last look at it and by this one. */
  restartsBefore: ReadonlyMap<string, number>
  restarts: Map<string, number>
}

/** Looks at everything that is live: not healthy three times in a row is an alarm, healthy again is told as well. */
export function createWatch(deps: DeploymentsDeps) {
  const memory: Memory = { failures: new Map(), restartsBefore: new Map(), restarts: new Map() }
  return async (abort: AbortSignal): Promise<void> => {
    Object.assign(memory, { restartsBefore: memory.restarts, restarts: new Map() })
    const all = (await listLive(deps.database.db)).filter(({ state }) => state === 'live')
    const places = await placesOf(deps.database.db, all)
    // A server that is slow to answer keeps nobody else waiting.
    await Promise.all(
      Map.groupBy(all, ({ deploymentId }) => places.get(deploymentId ?? '') ?? null)
        .values()
        .map((there) => lookAtAll(there, memory, deps, abort)),
    )
  }
}

async function lookAtAll(all: readonly LiveEnvironmentRow[], memory: Memory, deps: DeploymentsDeps, abort: AbortSignal) {
  for (const live of all) {
    abort.throwIfAborted()
    await look(live, memory, deps, abort).catch((error: unknown) =>
      deps.log.warn({ err: error, projectId: live.projectId }, 'the health of a project could not be looked at'),
    )
  }
}

async function look(live: LiveEnvironmentRow, memory: Memory, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const key = `${live.projectId}:${live.environment}`
  const problem = await problemOf(live, memory, deps, abort).catch((error: unknown): Problem => {
    if (error instanceof ServerAway) return { reason: error.message }
    throw error
  })
  const count = problem ? (memory.failures.get(key) ?? 0) + 1 : 0
  if (problem) memory.failures.set(key, count)
  else memory.failures.delete(key)
  const verdict = verdictOn(problem, count, live.health)
  if (verdict === 'start again') await startAgain(live, ['live'], deps, abort)
  else if (verdict) await record(live, verdict, problem?.reason ?? null, deps)
}

/** What a look leads to; null where nothing is new. `count` is how often in a row there was a problem, this one included. */
export function verdictOn(
  problem: Problem | null,
  count: number,
  health: LiveEnvironmentRow['health'],
): 'start again' | 'unhealthy' | 'healthy' | null {
  if (!problem) return health === 'unhealthy' ? 'healthy' : null
  if (problem.isGone) return 'start again'
  return count >= failuresBeforeAlarm && health !== 'unhealthy' ? 'unhealthy' : null
}

export interface Problem {
  reason: string
  /** The runtime knows nothing of it: it is started again from its artifact. */
  isGone?: boolean
}

async function problemOf(
  live: LiveEnvironmentRow,
  memory: Memory,
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<Problem | null> {
  const deployment = live.deploymentId ? await findDeployment(deps.database.db, live.deploymentId) : undefined
  if (!deployment?.artifacts) return null
  const rows = await listInstances(deps.database.db, { deploymentId: deployment.id, state: 'running' })
  for (const unit of runningUnits(deployment)) {
    const row = rows.find(({ service }) => service === unit.service)
    const instance = row && (await deps.runtimes.for(row.serverId).inspect(row.id))
    // News of a move that was lost is made up for here.
    if (row && (await noteAddress(row, instance, deps))) await deps.edge.sync()
    const problem = problemIn(instance, unit, memory.restartsBefore.get(row?.id ?? '')) ?? (await silence(instance, unit))
    if (instance) memory.restarts.set(instance.instanceId, instance.restarts)
    if (problem) return { ...problem, reason: unit.service ? `${unit.service}: ${problem.reason}` : problem.reason }
  }
  return null

  async function silence(instance: Instance | undefined, unit: Unit): Promise<Problem | null> {
    if (!instance?.address || instance.state === 'exited') return null
    const path = healthOf(deployment as DeploymentRow, unit)?.path
    const answer = await deps.probe({ ...instance.address, ...(path ? { path } : {}) }, 5_000, abort)
    return answer.healthy ? null : { reason: answer.reason }
  }
}

/** What is wrong with an instance, by what the runtime knows of it. One that was restarted since the last look runs in vain. */
export function problemIn(
  instance: Instance | undefined,
  unit: Pick<Unit, 'restart'>,
  restartsBefore: number | undefined,
): Problem | null {
  if (!instance) return { reason: 'it is gone', isGone: true }
  if (hasDoneItsWork(instance, unit)) return null
  const { state, exitCode, outOfMemory, restarts } = instance
  const how = instance.diskFull ? 'it wrote more than it may keep on the disk' : `exit code ${exitCode ?? 'unknown'}`
  if (state === 'exited') return { reason: `it ended (${how})`, isGone: unit.restart && !instance.diskFull }
  if (state !== 'restarting' && restarts <= (restartsBefore ?? restarts)) return null
  const why = outOfMemory ? 'it used more memory than it may, ' : exitCode === null ? '' : `exit code ${exitCode}, `
  return { reason: `it keeps ending (${why}${restarts} restarts)` }
}

async function record(live: LiveEnvironmentRow, health: 'healthy' | 'unhealthy', why: string | null, deps: DeploymentsDeps) {
  const reason = why === null ? null : (await deps.scrubbers.of(live.projectId)).scrub(why)
  await updateLive(deps.database.db, live, { health, healthReason: reason })
  if (health === 'unhealthy') await tell('project.unhealthy', live.projectId, 'is not healthy', reason ?? '', deps)
  else await tell('project.recovered', live.projectId, 'is healthy again', 'It answers as it should.', deps)
}
