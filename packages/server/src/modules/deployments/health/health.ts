import { setTimeout as pause } from 'node:timers/promises'
import type { HealthCheck } from '@berth/contract'
import type { ProbeTarget } from '../../../drivers/probe/probe.ts'
import type { HealthProgram } from '../../../drivers/runtime/health-program.ts'
import { missingTool } from '../../../drivers/runtime/process/tools/missing-tool.ts'
import type { Instance } from '../../../drivers/runtime/runtime.ts'
import type { InstanceRow } from '../../../platform/db/tables/deployments.ts'
import { saveAddress } from '../addresses.ts'
import { DeployFailed, PortTaken } from '../deploy-failed.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { updateInstance } from '../instance-store.ts'
import type { Unit } from '../plan/deployed.ts'
import { policyOf } from '../plan/restart-policy.ts'
import { lastAppLines } from './app-lines.ts'
import { crashText } from './crash-text.ts'
import { describeProbe } from './describe-probe.ts'
import { adviceFor } from './health-advice.ts'
import { listeningInside } from './listening-inside.ts'

const defaultTimeoutSeconds = 60
const firstProbeTimeoutMs = 5_000
const probeIntervalMs = 250
/** Time after the start in which a probe waits for the port to listen; most programs need far less. */
const awaitListenerForMs = 10_000
/** A worker has no port to probe: it must stay up this long. */
const workerMinUptimeMs = 3_000
const tailLines = 20
/** Lines to read for the tail: those of a package manager are then left out. */
const readLines = tailLines * 3
const exitCodeWaitMs = 5_000
/** Time limit for reading the tail, so that a hung runtime does not delay the failure. */
const tailTimeoutMs = 30_000

interface HealthContext {
  deps: DeploymentsDeps
  abort: AbortSignal
}

/**
 * Resolves when the instance serves, or has completed its work; its restart policy applies from then on. Rejects with the reason:
 * last status, exit code, last log lines.
 */
export async function waitUntilHealthy(
  row: InstanceRow,
  unit: Unit,
  check: HealthCheck | null,
  context: HealthContext,
): Promise<void> {
  const { deps, abort } = context
  const outcome = await pollUntilHealthy(row, unit, check, context)
  if (outcome === 'serves') await deps.runtimes.for(row.serverId).setRestart(row.id, policyOf(unit), abort)
  else if (row.completed === 0) await updateInstance(deps.database.db, row.id, { completed: 1 })
}

/** The results of the checks so far. */
interface Progress {
  startedAt: number
  /** Time limit of the next probe. */
  probeTimeoutMs: number
  lastStatus: number | null
  lastReason: string
  /** The declared health check, if that is the one that failed last. */
  failedProgram: HealthProgram | undefined
}

/** A running instance and the way it is checked. */
interface CheckedInstance {
  row: InstanceRow
  unit: Unit
  check: HealthCheck | null
  instance: Instance
  program: HealthProgram | undefined
  timeoutMs: number
}

async function pollUntilHealthy(
  row: InstanceRow,
  unit: Unit,
  check: HealthCheck | null,
  context: HealthContext,
): Promise<'serves' | 'completed'> {
  const { deps, abort } = context
  const progress: Progress = {
    startedAt: performance.now(),
    probeTimeoutMs: firstProbeTimeoutMs,
    lastStatus: null,
    lastReason: 'no response',
    failedProgram: undefined,
  }
  let firstState: Instance | undefined
  for (;;) {
    abort.throwIfAborted()
    const instance = await deps.runtimes.for(row.serverId).inspect(row.id)
    if (instance && hasCompleted(instance, unit)) return 'completed'
    if (!instance || instance.state === 'exited' || instance.state === 'restarting' || hasRestarted(instance, firstState))
      throw await crashError(row, unit, instance, deps)
    firstState ??= instance
    if (instance.portTaken && instance.state === 'running')
      throw new PortTaken(instance.portTaken, subjectOf(row), await lastLines(row, deps))
    const program = programOf(instance, unit)
    const timeoutMs = timeoutSecondsFor(unit, check, program) * 1000
    const checked = { row, unit, check, instance, program, timeoutMs }
    const result = await checkOnce(checked, progress, context)
    if (result === 'healthy') return 'serves'
    if (performance.now() >= progress.startedAt + timeoutMs) throw await unhealthyError(checked, progress, deps)
    await pause(result === 'refused' ? 0 : probeIntervalMs, undefined, { signal: abort })
  }
}

/** `refused`: the probe has already waited for the port to listen, so the next one need not be delayed. */
type CheckResult = 'healthy' | 'unhealthy' | 'refused'

async function checkOnce(checked: CheckedInstance, progress: Progress, context: HealthContext): Promise<CheckResult> {
  const { row, unit, instance, program, timeoutMs } = checked
  if (program && !unit.exposed) {
    const reason = await runHealthProgram(row, program, context)
    if (reason === null) return 'healthy'
    progress.failedProgram = program
    progress.lastReason = reason
    return 'unhealthy'
  }
  if (unit.port === null) {
    // A one-shot service has to finish its work, as other services may wait for it.
    const minUptimeMs = unit.restart || unit.staysUp ? workerMinUptimeMs : timeoutMs - probeIntervalMs * 2
    return performance.now() - progress.startedAt >= minUptimeMs ? 'healthy' : 'unhealthy'
  }
  return instance.address ? await probeOnce(checked, instance.address, progress, context) : 'unhealthy'
}

async function probeOnce(
  { row, unit, check, instance, program, timeoutMs }: CheckedInstance,
  address: NonNullable<Instance['address']>,
  progress: Progress,
  { deps, abort }: HealthContext,
): Promise<CheckResult> {
  const probedAt = performance.now()
  const remainingMs = Math.round(progress.startedAt + timeoutMs - probedAt)
  const timeLimitMs = Math.min(progress.probeTimeoutMs, Math.max(250, remainingMs))
  const awaitListenerMs = probedAt - progress.startedAt < awaitListenerForMs ? probeIntervalMs : 0
  const response = await deps.probe({ ...address, ...probeFor(unit, check), awaitListenerMs }, timeLimitMs, abort)
  const reason = response.healthy && program ? await runHealthProgram(row, program, { deps, abort }) : null
  if (response.healthy && reason === null) {
    // The program may listen on another port than PORT: store the address for the edge.
    await saveAddress(row, instance, deps)
    return 'healthy'
  }
  if (response.healthy) {
    progress.failedProgram = program
    progress.lastReason = reason ?? ''
  } else if (response.status !== null || progress.lastStatus === null) {
    // A response of an earlier probe says more than a final probe that timed out.
    progress.failedProgram = undefined
    progress.lastStatus = response.status
    progress.lastReason = response.reason
  }
  // Some apps answer their first request slowly and start over with each new request: double the timeout of the next probe.
  if (performance.now() - probedAt >= timeLimitMs) progress.probeTimeoutMs *= 2
  return !response.healthy && response.refused ? 'refused' : 'unhealthy'
}

/** The declared health check. The one from the engine includes the HEALTHCHECK of the image. */
const programOf = ({ health }: Instance, { healthProgram }: Unit): HealthProgram | undefined =>
  health?.program ?? healthProgram ?? undefined

/** A Compose health check sets the timeout of an internal service; the exposed one gets at least the default. */
function timeoutSecondsFor(unit: Unit, check: HealthCheck | null, program: HealthProgram | undefined): number {
  if (check?.timeoutSeconds) return check.timeoutSeconds
  if (program && unit.healthProgram && !unit.exposed) return program.withinSeconds
  return Math.max(defaultTimeoutSeconds, program?.withinSeconds ?? 0)
}

/** The error for an unhealthy instance: the request, the result, and advice. */
async function unhealthyError(
  { row, unit, check, instance, timeoutMs }: CheckedInstance,
  { failedProgram, lastStatus: status, lastReason }: Progress,
  deps: DeploymentsDeps,
): Promise<DeployFailed> {
  const { request, hint } = failedProgram ? describeDeclaredCheck(failedProgram) : describeProbe(instance, unit, check, status)
  const port = failedProgram ? null : unit.port
  const listening = status === null && port !== null ? await listeningInside(deps.runtimes.for(row.serverId), row.id) : null
  const advice = adviceFor({ port, status, check, listening })
  const summary = `${subjectOf(row)} was not healthy within ${timeoutMs / 1000} s: ${request}: ${lastReason}`
  return new DeployFailed('unhealthy', [summary, hint || advice].filter(Boolean).join('. '), await lastLines(row, deps))
}

const describeDeclaredCheck = ({ argv }: HealthProgram) => ({
  request: `its own health check (${argv.join(' ')})`,
  hint:
    'Fix the HEALTHCHECK of the Dockerfile or the healthcheck of the Compose file, ' +
    'or set healthCheck.timeoutSeconds if it needs longer to start',
})

/**
 * The probe of a unit. The exposed unit is probed over HTTP: an open connection proves little, as Docker's proxy accepts all of
 * them. Without a configured path, any response below 500 passes.
 */
export function probeFor(unit: Pick<Unit, 'exposed'>, check: HealthCheck | null): Omit<ProbeTarget, 'host' | 'port'> {
  const below = check?.acceptErrors ? { healthyBelow: 600 } : {}
  if (check?.path) return { path: check.path, ...below }
  return unit.exposed ? { path: '/', healthyBelow: 500, anyProtocol: true, ...below } : {}
}

/** A one-shot service, such as a migration, is healthy once it exited with 0; never the exposed one. */
export const hasCompleted = (
  { state, exitCode }: Pick<Instance, 'state' | 'exitCode'>,
  { restart, exposed = false }: Pick<Unit, 'restart'> & Partial<Pick<Unit, 'exposed'>>,
) => !restart && !exposed && state === 'exited' && exitCode === 0

/** Ignores restarts from before the wait: a database kept from the previous version may have restarted earlier. */
const hasRestarted = (instance: Instance, firstState: Instance | undefined): boolean =>
  instance.restarts > (firstState?.restarts ?? instance.restarts)

/** Runs the health check program; returns null when healthy, else the reason. */
async function runHealthProgram(
  { id, serverId }: InstanceRow,
  { argv, timeoutSeconds }: HealthProgram,
  { deps, abort }: HealthContext,
) {
  const limit = AbortSignal.timeout(timeoutSeconds * 1000)
  try {
    const { exitCode, stderrTail } = await deps.runtimes.for(serverId).exec(id, { argv }, AbortSignal.any([abort, limit]))
    return exitCode === 0 ? null : `exit code ${exitCode}${stderrTail ? `: ${stderrTail.trim().slice(-200)}` : ''}`
  } catch (error) {
    abort.throwIfAborted()
    return limit.aborted ? `timed out after ${timeoutSeconds} s` : (error as Error).message
  }
}

async function crashError(
  row: InstanceRow,
  unit: Unit,
  lastState: Instance | undefined,
  deps: DeploymentsDeps,
): Promise<DeployFailed> {
  const lines = await lastLines(row, deps)
  const instance = await waitForExitCode(row, lastState, deps)
  if (!instance) return new DeployFailed('crashed', `${subjectOf(row)} was removed while it started. Deploy again.`, lines)
  if (instance.portTaken && !instance.outOfMemory && !instance.diskFull)
    return new PortTaken(instance.portTaken, subjectOf(row), lines)
  const missing = row.runtime === 'process' ? missingTool(instance.exitCode, lines) : null
  if (missing) return new DeployFailed('crashed', missing, lines)
  return new DeployFailed('crashed', crashText(subjectOf(row), instance, unit, lines), lines)
}

/** Waits for the exit code: an instance that was just restarted has none until it exits again. */
async function waitForExitCode({ id, serverId }: InstanceRow, lastState: Instance | undefined, { runtimes }: DeploymentsDeps) {
  let instance = lastState
  for (const until = performance.now() + exitCodeWaitMs; instance && performance.now() < until; ) {
    if (instance.exitCode !== null || instance.outOfMemory) break
    await pause(50)
    instance = (await runtimes.for(serverId).inspect(id)) ?? instance
  }
  return instance
}

const subjectOf = ({ service }: InstanceRow) => (service ? `The service ${service}` : 'The new version')

/** The last output lines, read from the runtime because the log store may lag behind. */
async function lastLines({ id, projectId, serverId }: InstanceRow, { runtimes, scrubbers }: DeploymentsDeps): Promise<string[]> {
  const { scrub } = await scrubbers.of(projectId)
  const lines: string[] = []
  const limit = AbortSignal.timeout(tailTimeoutMs)
  try {
    for await (const { message } of runtimes.for(serverId).logs(id, null, limit, { follow: false })) {
      lines.push(scrub(message))
      if (lines.length > readLines) lines.shift()
    }
  } catch {
    // Missing log lines must not hide the reason of the failure.
  }
  return lastAppLines(lines, tailLines)
}
