import type { InstanceRow, LiveEnvironmentRow } from '../../db/tables/deployments.ts'
import type { DeploymentsDeps } from './deps.ts'
import { startAgain } from './power.ts'
import { healthOf, runningUnits } from './run-units.ts'
import { tell } from './sleep.ts'
import { findDeployment, listInstances, listLive, noteLive } from './store.ts'

const failuresBeforeAlarm = 3

/** Looks at everything that is live: not healthy three times in a row is an alarm, healthy again is told as well. */
export function createWatch(deps: DeploymentsDeps) {
  const failures = new Map<string, number>()
  return async (abort: AbortSignal): Promise<void> => {
    for (const live of await listLive(deps.database.db)) {
      if (live.state !== 'live') continue
      abort.throwIfAborted()
      await look(live, failures, deps, abort).catch((error: unknown) =>
        deps.log.warn({ err: error, projectId: live.projectId }, 'the health of a project could not be looked at'),
      )
    }
  }
}

async function look(
  live: LiveEnvironmentRow,
  failures: Map<string, number>,
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<void> {
  const key = `${live.projectId}:${live.environment}`
  const problem = await problemOf(live, deps, abort)
  if (!problem) {
    failures.delete(key)
    if (live.health === 'unhealthy') await record(live, 'healthy', null, deps)
    return
  }
  const count = (failures.get(key) ?? 0) + 1
  failures.set(key, count)
  if (problem.isGone) await startAgain(live, ['live'], deps, abort)
  else if (count >= failuresBeforeAlarm && live.health !== 'unhealthy') await record(live, 'unhealthy', problem.reason, deps)
}

interface Problem {
  reason: string
  /** The runtime knows nothing of it: it is started again from its artifact. */
  isGone?: boolean
}

async function problemOf(live: LiveEnvironmentRow, deps: DeploymentsDeps, abort: AbortSignal): Promise<Problem | null> {
  const deployment = live.deploymentId ? await findDeployment(deps.database.db, live.deploymentId) : undefined
  if (!deployment?.artifacts) return null
  const rows = await listInstances(deps.database.db, { deploymentId: deployment.id, state: 'running' })
  for (const unit of runningUnits(deployment)) {
    const row = rows.find(({ service }) => service === unit.service)
    const problem = row
      ? await problemWith(row, healthOf(deployment, unit)?.path, deps, abort)
      : { reason: 'it is gone', isGone: true }
    if (problem) return { ...problem, reason: unit.service ? `${unit.service}: ${problem.reason}` : problem.reason }
  }
  return null
}

async function problemWith(
  row: InstanceRow,
  path: string | undefined,
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<Problem | null> {
  const instance = await deps.runtime.inspect(row.id)
  if (!instance) return { reason: 'it is gone', isGone: true }
  if (instance.state === 'exited') return { reason: `it ended (exit code ${instance.exitCode ?? 'unknown'})`, isGone: true }
  if (instance.state === 'restarting') {
    const why = instance.outOfMemory ? 'it used more memory than it may' : `exit code ${instance.exitCode ?? 'unknown'}`
    return { reason: `it keeps ending (${why}, ${instance.restarts} restarts)` }
  }
  if (!instance.address) return null
  const answer = await deps.probe({ ...instance.address, ...(path ? { path } : {}) }, 5_000, abort)
  return answer.healthy ? null : { reason: answer.reason }
}

async function record(live: LiveEnvironmentRow, health: 'healthy' | 'unhealthy', reason: string | null, deps: DeploymentsDeps) {
  await noteLive(deps.database.db, live, { health, healthReason: reason })
  if (health === 'unhealthy') await tell('project.unhealthy', live.projectId, 'is not healthy', reason ?? '', deps)
  else await tell('project.recovered', live.projectId, 'is healthy again', 'It answers as it should.', deps)
}
