import type { Instance } from '../../../drivers/runtime/runtime.ts'
import { ServerAway } from '../../../drivers/shell/ssh/server-away.ts'
import type { DeploymentRow, InstanceRow, LiveEnvironmentRow, ServiceState } from '../../../platform/db/tables/deployments.ts'
import { errorMessage } from '../../../platform/error-message.ts'
import { noteAddress } from '../addresses.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { questionFor } from '../health/health.ts'
import { type Problem, problemIn } from '../health/instance-problems.ts'
import { isLooping, isNoted, loopText, newState, statesOf, statusIn } from '../health/service-states.ts'
import { findLive, listLive, updateLive } from '../live-environments.ts'
import type { DeployedConfig, Unit } from '../plan/plan.ts'
import { startByItself } from '../power/power.ts'
import { announceHealth } from '../power/sleep.ts'
import { healthOf, runningUnits, stopInstances, wantedRows } from '../run/run-units.ts'
import { findDeployment, listInstances } from '../store.ts'
import { HealthRounds } from './health-rounds.ts'
import { noteEnd, servicesLock } from './instance-ends.ts'
import { type Statuses, saveStatuses } from './save-statuses.ts'

const failuresBeforeAlarm = 3
/** The runtime tells of an end with its exit code; after this long it has not, and the end is recorded without. */
const unseenEndMs = 5_000

const listMs = 5_000
const pauses = { firstMs: 5_000, longestMs: 30_000 }
/** Of many that are well, each is looked at more seldom, a hundred once a minute each; but each now and then. */
const lookApartMs = 600
const mostSeldomMs = 120_000

/** What earlier looks have seen. */
interface Memory {
  /** How often in a row an environment was not well, and when it was last counted. */
  failures: Map<string, { count: number; at: number }>
  /** How often an instance had been restarted, by the last look at it. */
  restarts: Map<string, number>
  /** When an environment was last started again after it had reached its disk limit, and for how long it is not after that. */
  diskRestarts: Map<string, { at: number; pauseMs: number }>
}

/**
 * Looks at everything that is live, each in its own rhythm: not healthy three times in a row is an alarm, healthy again is told as well.
 * What the runtime tells of an instance is a reason to look at once.
 */
export class Watch {
  readonly #deps: DeploymentsDeps
  readonly #rounds = new HealthRounds(pauses)
  readonly #memory: Memory = { failures: new Map(), restarts: new Map(), diskRestarts: new Map() }
  readonly #looks = new Set<Promise<void>>()
  #live = new Map<string, LiveEnvironmentRow>()
  #listedAt = Number.NEGATIVE_INFINITY
  #unlisten: (() => void) | undefined

  constructor(deps: DeploymentsDeps) {
    this.#deps = deps
  }

  /** Begins the looks that are due and waits for none: one that hangs holds up nobody else. */
  async tick(abort: AbortSignal): Promise<void> {
    const now = performance.now()
    this.#unlisten ??= this.#deps.runtimes.onChange(({ instance: { owner } }) => {
      this.#rounds.hurry(keyOf(owner), performance.now())
    })
    if (now - this.#listedAt >= listMs) await this.#list(now)
    for (const key of this.#rounds.due(now)) {
      const look = this.#look(key, abort).finally(() => this.#looks.delete(look))
      this.#looks.add(look)
    }
  }

  /** After the last tick. */
  async end(): Promise<void> {
    this.#unlisten?.()
    await Promise.all(this.#looks)
  }

  async #list(now: number): Promise<void> {
    const live = (await listLive(this.#deps.database.db)).filter(({ state }) => state === 'live')
    this.#live = new Map(live.map((one) => [keyOf(one), one]))
    for (const known of [this.#memory.failures, this.#memory.diskRestarts])
      for (const key of known.keys()) if (!this.#live.has(key)) known.delete(key)
    // Of instances that are gone nobody asks; without a number the next look is the first.
    if (this.#memory.restarts.size > live.length * 8 + 64) this.#memory.restarts.clear()
    this.#rounds.keep(new Map(live.map((one) => [keyOf(one), one.deploymentId ?? ''])), now)
    this.#listedAt = now
  }

  async #look(key: string, abort: AbortSignal): Promise<void> {
    const end = this.#rounds.begin(key)
    const found = await this.#lookAt(key, abort).catch((error: unknown): Found => {
      if (!abort.aborted) this.#deps.log.warn({ err: error, environment: key }, 'the health of a project could not be looked at')
      return { isWell: false }
    })
    end(found.isWell, performance.now(), found.everyMs ?? pauseAmong(this.#live.size))
  }

  /** By its row of this moment: it may sleep by now, or be another version. */
  async #lookAt(key: string, abort: AbortSignal): Promise<Found> {
    const listed = this.#live.get(key)
    const live = listed && (await findLive(this.#deps.database.db, listed.projectId, listed.environment))
    return live?.state === 'live' ? await look(live, this.#memory, this.#deps, abort) : { isWell: true }
  }
}

interface Found {
  isWell: boolean
  /** The project's own rhythm. */
  everyMs?: number
}

export const pauseAmong = (count: number) => Math.min(mostSeldomMs, Math.max(pauses.longestMs, count * lookApartMs))

const keyOf = ({ projectId, environment }: { projectId: string; environment: string }) => `${projectId}:${environment}`

async function look(live: LiveEnvironmentRow, memory: Memory, deps: DeploymentsDeps, abort: AbortSignal): Promise<Found> {
  const key = keyOf(live)
  const deployment = live.deploymentId ? await findDeployment(deps.database.db, live.deploymentId) : undefined
  if (!deployment?.artifacts) return { isWell: true }
  const problem = await problemOf(live, deployment, memory, deps, abort).catch((error: unknown): Problem => {
    if (error instanceof ServerAway) return { reason: error.message }
    throw error
  })
  const count = problem ? countFailure(key, memory) : 0
  if (!problem) memory.failures.delete(key)
  if (problem?.isDiskFull) return diskFull(live, deployment, problem, memory, deps, abort)
  const verdict = verdictOn(problem, count, live.health)
  if (verdict === 'start again') await bringBack(live, { reason: problem?.reason ?? '', count }, deps, abort)
  else if (verdict) await record(live, verdict, problem?.reason ?? null, deps)
  const { intervalSeconds } = (JSON.parse(deployment.config) as DeployedConfig).healthCheck ?? {}
  return { isWell: problem === null, ...(intervalSeconds ? { everyMs: intervalSeconds * 1000 } : {}) }
}

/** Twice as long after each start that did not help. */
const diskRestartMs = { first: 10 * 60_000, longest: 6 * 60 * 60_000 }

/**
 * The owner is told what happened and what to do. It is started again, because temporary files went with the instance; but
 * seldom, because other files end it again.
 */
async function diskFull(
  live: LiveEnvironmentRow,
  deployment: DeploymentRow,
  { reason }: Problem,
  { diskRestarts }: Memory,
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<Found> {
  const key = keyOf(live)
  if (live.health !== 'unhealthy') await record(live, 'unhealthy', reason, deps)
  const now = performance.now()
  const last = diskRestarts.get(key)
  if (last && now - last.at < last.pauseMs) return { isWell: false }
  const isRecent = last && now - last.at < 2 * last.pauseMs
  const pauseMs = isRecent ? Math.min(2 * last.pauseMs, diskRestartMs.longest) : diskRestartMs.first
  diskRestarts.set(key, { at: now, pauseMs })
  await stopInstances(await listInstances(deps.database.db, { deploymentId: deployment.id }), deps, abort)
  await bringBack({ ...live, health: 'unhealthy' }, { reason, count: 0 }, deps, abort)
  return { isWell: false }
}

/** One that cannot be started again is as unhealthy as one that does not answer. */
async function bringBack(
  live: LiveEnvironmentRow,
  { reason, count }: { reason: string; count: number },
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<void> {
  deps.log.warn({ projectId: live.projectId, environment: live.environment, reason }, 'deployments: starting instances again')
  try {
    await startByItself('recover', live, ['live'], deps, abort)
  } catch (error) {
    const why = `${reason}, and could not be started again: ${errorMessage(error)}`
    if (!abort.aborted && count >= failuresBeforeAlarm && live.health !== 'unhealthy') await record(live, 'unhealthy', why, deps)
    throw error
  }
  const now = await findLive(deps.database.db, live.projectId, live.environment)
  if (live.health === 'unhealthy' && now?.health === 'healthy') await tellRecovered(live, deps)
}

/** Looks that news brought about in quick succession are one: what restarts gets the time that it needs. */
function countFailure(key: string, { failures }: Memory): number {
  const now = performance.now()
  const before = failures.get(key)
  if (before && now - before.at < pauses.firstMs * 0.8) return before.count
  const count = (before?.count ?? 0) + 1
  failures.set(key, { count, at: now })
  return count
}

/** What a look leads to; null where nothing is new. `count` is how often in a row there was a problem, this one included. */
export function verdictOn(
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
  memory: Memory,
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<Problem | null> {
  const rows = await listInstances(deps.database.db, { deploymentId: deployment.id, state: 'running' })
  const units = runningUnits(deployment)
  const states = new Map(statesOf(live).map((state) => [state.name, state]))
  const statuses: Statuses = new Map()
  let first: Problem | null = null
  for (const { unit, row } of wantedRows(units, rows)) {
    const instance = row && (await glanceAt(row))
    if (instance instanceof Error) {
      first ??= { reason: `it could not be looked at: ${instance.message}` }
      continue
    }
    // News of a move that was lost is made up for here.
    if (row && (await noteAddress(row, instance, deps))) await deps.edge.sync()
    const limit = { diskMb: unit.allotment.diskMb }
    const own = problemIn(instance, unit, memory.restarts.get(row?.id ?? ''), limit)
    // With one problem found, the others only have to tell how they are.
    const quiet: Problem | null = own || first ? null : await silence(instance, unit)
    if (instance) memory.restarts.set(instance.instanceId, instance.restarts)
    const status = statusIn(instance, unit)
    statuses.set(unit.service, quiet && status === 'running' ? 'unhealthy' : status)
    if (instance && isUnseen(instance, states.get(unit.service) ?? newState(unit))) await noteEnd(instance, deps)
    const problem: Problem | null = own ?? quiet
    if (problem) first ??= { ...problem, reason: unit.service ? `${unit.service}: ${problem.reason}` : problem.reason }
  }
  const saved = await saveStatuses(live, units, statuses, deps)
  const looping = saved.find((state) => isLooping(state, nowOf(deps)))
  return looping && !first?.isGone && !first?.isDiskFull ? { reason: loopText(looping), isLooping: true } : first

  /** Where the runtime itself does not answer, what ran in it most likely does not either. */
  async function glanceAt({ id, serverId }: InstanceRow): Promise<Instance | undefined | Error> {
    return deps.runtimes
      .for(serverId)
      .glance(id)
      .catch((error: unknown) => {
        if (error instanceof ServerAway) throw error
        return new Error(errorMessage(error))
      })
  }

  async function silence(instance: Instance | undefined, unit: Unit): Promise<Problem | null> {
    if (!instance?.address || instance.state === 'exited') return null
    // Without a path of its own it is not asked for its first page again and again: a connection is enough.
    const check = healthOf(deployment, unit)
    const question = check?.path ? questionFor(unit, check) : {}
    const answer = await deps.probe({ ...instance.address, ...question }, 5_000, abort)
    return answer.healthy ? null : { reason: answer.reason }
  }
}

/** An end without an event: the control plane was not running, or the runtime lost it. */
const isUnseen = ({ lastEnd }: Instance, state: ServiceState): boolean =>
  lastEnd !== undefined && !isNoted(state, lastEnd) && Date.now() - Date.parse(lastEnd.at) > unseenEndMs

/** Told once: an end of an instance may have made it unhealthy since the look began. */
async function record(live: LiveEnvironmentRow, health: 'healthy' | 'unhealthy', why: string | null, deps: DeploymentsDeps) {
  const reason = why === null ? null : (await deps.scrubbers.of(live.projectId)).scrub(why)
  await deps.database.transaction(async (bound) => {
    await bound.lock(servicesLock(live))
    const now = await findLive(bound.db, live.projectId, live.environment)
    if (!now || now.health === health) return
    await updateLive(bound.db, live, { health, healthReason: reason })
    if (health === 'unhealthy') await announceHealth(bound, 'project.unhealthy', live.projectId, reason ?? '')
    else await announceHealth(bound, 'project.recovered', live.projectId, recoveredText)
  })
}

const recoveredText = 'It answers as it should.'

const tellRecovered = ({ projectId }: LiveEnvironmentRow, { database }: DeploymentsDeps) =>
  database.transaction((bound) => announceHealth(bound, 'project.recovered', projectId, recoveredText))
