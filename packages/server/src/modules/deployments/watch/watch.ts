import type { Instance } from '../../../drivers/runtime/runtime.ts'
import { ServerUnreachable } from '../../../drivers/shell/ssh/server-unreachable.ts'
import type { DeploymentRow, InstanceRow, LiveEnvironmentRow, ServiceState } from '../../../platform/db/tables/deployments.ts'
import { errorMessage } from '../../../platform/error-message.ts'
import { saveAddress } from '../addresses.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { probeFor } from '../health/health.ts'
import { type Problem, problemIn } from '../health/instance-problems.ts'
import { crashLoopText, isLooping, isRecorded, newState, statesOf, statusIn } from '../health/service-states.ts'
import { listInstances } from '../instance-store.ts'
import { findLive, listLive, updateLive } from '../live-environments.ts'
import { deployedConfig, type Unit } from '../plan/deployed.ts'
import { startAutomatically } from '../power/power.ts'
import { announceHealth } from '../power/sleep.ts'
import { healthOf, requiredInstances, runningUnits, stopInstances } from '../run/run-units.ts'
import { findDeployment } from '../store.ts'
import { type CheckIntervals, standardWatchIntervals, type WatchIntervals } from '../watch-intervals.ts'
import { HealthSchedule } from './health-schedule.ts'
import { recordExit, servicesLock } from './instance-exits.ts'
import { type Statuses, saveStatuses } from './save-statuses.ts'

const failuresBeforeAlarm = 3
/** The runtime reports an exit with its exit code. If it has not after this time, the exit is recorded without one. */
const unreportedExitMs = 5_000

/** Time between two checks of healthy environments: with many of them, each is checked less often (100: once a minute each). */
const checkSpacingMs = 600
const maxIntervalMs = 120_000

/** Results of earlier checks. */
interface EarlierResults {
  /** Consecutive failed checks of an environment, and when the last one was counted. */
  failures: Map<string, { count: number; at: number }>
  /** Restart count of an instance at its last check. */
  restarts: Map<string, number>
  /** Time of the last restart after the disk limit was reached, and the pause before the next one. */
  diskRestarts: Map<string, { at: number; pauseMs: number }>
}

/**
 * Checks all live environments, each on its own schedule. Three failed checks in a row raise an alarm; recovery is announced too.
 * A runtime event of an instance triggers a check at once.
 */
export class Watch {
  readonly #deps: DeploymentsDeps
  readonly #intervals: WatchIntervals
  readonly #schedule: HealthSchedule
  readonly #earlier: EarlierResults = { failures: new Map(), restarts: new Map(), diskRestarts: new Map() }
  readonly #checks = new Set<Promise<void>>()
  #live = new Map<string, LiveEnvironmentRow>()
  #listedAt = Number.NEGATIVE_INFINITY
  #unlisten: (() => void) | undefined

  constructor(deps: DeploymentsDeps) {
    this.#deps = deps
    this.#intervals = deps.watchIntervals
    this.#schedule = new HealthSchedule(this.#intervals.checks)
  }

  /** Starts the checks that are due without waiting for them, so a hung check delays no other. */
  async tick(abort: AbortSignal): Promise<void> {
    const now = performance.now()
    this.#unlisten ??= this.#deps.runtimes.onChange(({ instance: { owner } }) => {
      this.#schedule.checkNow(environmentKey(owner), performance.now())
    })
    if (now - this.#listedAt >= this.#intervals.listMs) await this.#list(now)
    for (const key of this.#schedule.due(now)) {
      const check = this.#check(key, abort).finally(() => this.#checks.delete(check))
      this.#checks.add(check)
    }
  }

  /** Call after the last tick. */
  async stop(): Promise<void> {
    this.#unlisten?.()
    await Promise.all(this.#checks)
  }

  async #list(now: number): Promise<void> {
    const live = (await listLive(this.#deps.database.db)).filter(({ state }) => state === 'live')
    this.#live = new Map(live.map((one) => [environmentKey(one), one]))
    for (const map of [this.#earlier.failures, this.#earlier.diskRestarts])
      for (const key of map.keys()) if (!this.#live.has(key)) map.delete(key)
    // Bounds the map, which also contains removed instances. A missing entry only makes the next check the first.
    if (this.#earlier.restarts.size > live.length * 8 + 64) this.#earlier.restarts.clear()
    this.#schedule.setKeys(new Map(live.map((one) => [environmentKey(one), one.deploymentId ?? ''])), now)
    this.#listedAt = now
  }

  async #check(key: string, abort: AbortSignal): Promise<void> {
    const endCheck = this.#schedule.startCheck(key)
    const result = await this.#checkOne(key, abort).catch((error: unknown): CheckResult => {
      if (!abort.aborted) this.#deps.log.warn({ err: error, environment: key }, 'deployments: health check of a project failed')
      return { isHealthy: false }
    })
    endCheck(result.isHealthy, performance.now(), result.intervalMs ?? maxIntervalFor(this.#live.size, this.#intervals.checks))
  }

  /** Reads the current row first: the environment may be asleep or have another deployment by now. */
  async #checkOne(key: string, abort: AbortSignal): Promise<CheckResult> {
    const listed = this.#live.get(key)
    const live = listed && (await findLive(this.#deps.database.db, listed.projectId, listed.environment))
    return live?.state === 'live' ? await checkEnvironment(live, this.#earlier, this.#deps, abort) : { isHealthy: true }
  }
}

interface CheckResult {
  isHealthy: boolean
  /** The project's configured interval. */
  intervalMs?: number
}

export const maxIntervalFor = (count: number, { maxMs }: CheckIntervals = standardWatchIntervals.checks) =>
  Math.min(maxIntervalMs, Math.max(maxMs, count * checkSpacingMs))

const environmentKey = ({ projectId, environment }: { projectId: string; environment: string }) => `${projectId}:${environment}`

async function checkEnvironment(
  live: LiveEnvironmentRow,
  earlier: EarlierResults,
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<CheckResult> {
  const key = environmentKey(live)
  const deployment = live.deploymentId ? await findDeployment(deps.database.db, live.deploymentId) : undefined
  if (!deployment?.artifacts) return { isHealthy: true }
  const problem = await problemOf(live, deployment, earlier, deps, abort).catch((error: unknown): Problem => {
    if (error instanceof ServerUnreachable) return { reason: error.message }
    throw error
  })
  const count = problem ? countFailure(key, earlier, deps.watchIntervals.checks.firstMs) : 0
  if (!problem) earlier.failures.delete(key)
  if (problem?.isDiskFull) return restartAfterDiskFull(live, deployment, problem, earlier, deps, abort)
  const action = actionFor(problem, count, live.health)
  if (action === 'start again') await restart(live, { reason: problem?.reason ?? '', count }, deps, abort)
  else if (action) await saveHealth(live, action, problem?.reason ?? null, deps)
  const { intervalSeconds } = deployedConfig(deployment).healthCheck ?? {}
  return { isHealthy: problem === null, ...(intervalSeconds ? { intervalMs: intervalSeconds * 1000 } : {}) }
}

/** The pause doubles after each restart that did not help. */
const diskRestartMs = { first: 10 * 60_000, longest: 6 * 60 * 60_000 }

/**
 * Handles an instance that reached its disk limit: notifies the owner and restarts it, because the restart removes temporary
 * files. It does so rarely, as other files fill the disk again.
 */
async function restartAfterDiskFull(
  live: LiveEnvironmentRow,
  deployment: DeploymentRow,
  { reason }: Problem,
  { diskRestarts }: EarlierResults,
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<CheckResult> {
  const key = environmentKey(live)
  if (live.health !== 'unhealthy') await saveHealth(live, 'unhealthy', reason, deps)
  const now = performance.now()
  const last = diskRestarts.get(key)
  if (last && now - last.at < last.pauseMs) return { isHealthy: false }
  const isRecent = last && now - last.at < 2 * last.pauseMs
  const pauseMs = isRecent ? Math.min(2 * last.pauseMs, diskRestartMs.longest) : diskRestartMs.first
  diskRestarts.set(key, { at: now, pauseMs })
  await stopInstances(await listInstances(deps.database.db, { deploymentId: deployment.id }), deps, abort)
  await restart({ ...live, health: 'unhealthy' }, { reason, count: 0 }, deps, abort)
  return { isHealthy: false }
}

/** Restarts the environment. If that fails, it counts as unhealthy. */
async function restart(
  live: LiveEnvironmentRow,
  { reason, count }: { reason: string; count: number },
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<void> {
  deps.log.warn({ projectId: live.projectId, environment: live.environment, reason }, 'deployments: starting instances again')
  try {
    await startAutomatically('recover', live, ['live'], deps, abort)
  } catch (error) {
    const why = `${reason}, and the restart failed: ${errorMessage(error)}`
    if (!abort.aborted && count >= failuresBeforeAlarm && live.health !== 'unhealthy')
      await saveHealth(live, 'unhealthy', why, deps)
    throw error
  }
  const current = await findLive(deps.database.db, live.projectId, live.environment)
  if (live.health === 'unhealthy' && current?.health === 'healthy') await notifyRecovered(live, deps)
}

/** Counts consecutive failures. Checks in quick succession, triggered by events, count once: a restarting instance needs time. */
function countFailure(key: string, { failures }: EarlierResults, firstMs: number): number {
  const now = performance.now()
  const before = failures.get(key)
  if (before && now - before.at < firstMs * 0.8) return before.count
  const count = (before?.count ?? 0) + 1
  failures.set(key, { count, at: now })
  return count
}

/** The consequence of a check; null for none. `count` is the number of consecutive failures, this one included. */
export function actionFor(
  problem: Problem | null,
  count: number,
  health: LiveEnvironmentRow['health'],
): 'start again' | 'unhealthy' | 'healthy' | null {
  if (!problem) return health === 'unhealthy' ? 'healthy' : null
  if (problem.isGone) return 'start again'
  if (problem.isLooping) return health === 'unhealthy' ? null : 'unhealthy'
  return count >= failuresBeforeAlarm && health !== 'unhealthy' ? 'unhealthy' : null
}

async function problemOf(
  live: LiveEnvironmentRow,
  deployment: DeploymentRow,
  earlier: EarlierResults,
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<Problem | null> {
  const rows = await listInstances(deps.database.db, { deploymentId: deployment.id, state: 'running' })
  const units = runningUnits(deployment)
  const states = new Map(statesOf(live).map((state) => [state.name, state]))
  const statuses: Statuses = new Map()
  let firstProblem: Problem | null = null
  for (const { unit, row } of requiredInstances(units, rows)) {
    const instance = row && (await readState(row))
    if (instance instanceof Error) {
      firstProblem ??= { reason: `its state could not be read: ${instance.message}` }
      continue
    }
    // Corrects an address whose change event was lost.
    if (row && (await saveAddress(row, instance, deps))) await deps.edge.sync()
    const limit = { diskMb: unit.allotment.diskMb }
    const instanceProblem = problemIn(instance, unit, earlier.restarts.get(row?.id ?? ''), limit)
    // After the first problem, the other units are not probed: only their status is read.
    const probeProblem: Problem | null = instanceProblem || firstProblem ? null : await probeInstance(instance, unit)
    if (instance) earlier.restarts.set(instance.instanceId, instance.restarts)
    const status = statusIn(instance, unit)
    statuses.set(unit.service, probeProblem && status === 'running' ? 'unhealthy' : status)
    if (instance && isUnreportedExit(instance, states.get(unit.service) ?? newState(unit))) await recordExit(instance, deps)
    const problem: Problem | null = instanceProblem ?? probeProblem
    if (problem) firstProblem ??= { ...problem, reason: unit.service ? `${unit.service}: ${problem.reason}` : problem.reason }
  }
  const saved = await saveStatuses(live, units, statuses, deps)
  const looping = saved.find((state) => isLooping(state, nowOf(deps)))
  return looping && !firstProblem?.isGone && !firstProblem?.isDiskFull
    ? { reason: crashLoopText(looping), isLooping: true }
    : firstProblem

  /** Reads the state of an instance. A runtime that does not answer is reported as a problem of the instance. */
  async function readState({ id, serverId }: InstanceRow): Promise<Instance | undefined | Error> {
    return deps.runtimes
      .for(serverId)
      .inspectCached(id)
      .catch((error: unknown) => {
        if (error instanceof ServerUnreachable) throw error
        return new Error(errorMessage(error))
      })
  }

  async function probeInstance(instance: Instance | undefined, unit: Unit): Promise<Problem | null> {
    if (!instance?.address || instance.state === 'exited') return null
    // Without a configured path only a connection is made, so that the app's first page is not requested over and over.
    const check = healthOf(deployment, unit)
    const probe = check?.path ? probeFor(unit, check) : {}
    const response = await deps.probe({ ...instance.address, ...probe }, 5_000, abort)
    return response.healthy ? null : { reason: response.reason }
  }
}

/** An exit without an event: the control plane was down, or the runtime lost the event. */
const isUnreportedExit = ({ lastEnd }: Instance, state: ServiceState): boolean =>
  lastEnd !== undefined && !isRecorded(state, lastEnd) && Date.now() - Date.parse(lastEnd.at) > unreportedExitMs

/** Announces a change once: an exit may have marked the environment unhealthy since the check began. */
async function saveHealth(live: LiveEnvironmentRow, health: 'healthy' | 'unhealthy', why: string | null, deps: DeploymentsDeps) {
  const reason = why === null ? null : (await deps.scrubbers.of(live.projectId)).scrub(why)
  await deps.database.transaction(async (transaction) => {
    await transaction.lock(servicesLock(live))
    const current = await findLive(transaction.db, live.projectId, live.environment)
    if (!current || current.health === health) return
    await updateLive(transaction.db, live, { health, healthReason: reason })
    if (health === 'unhealthy') await announceHealth(transaction, 'project.unhealthy', live.projectId, reason ?? '')
    else await announceHealth(transaction, 'project.recovered', live.projectId, recoveredText)
  })
}

const recoveredText = 'Its health check passes again.'

const notifyRecovered = ({ projectId }: LiveEnvironmentRow, { database }: DeploymentsDeps) =>
  database.transaction((transaction) => announceHealth(transaction, 'project.recovered', projectId, recoveredText))
