import { setTimeout as pause } from 'node:timers/promises'
import type { HealthCheck } from '@berth/contract'
import type { ProbeTarget } from '../../../drivers/probe/probe.ts'
import type { HealthProgram } from '../../../drivers/runtime/health-program.ts'
import { missingTool } from '../../../drivers/runtime/process/tools/missing-tool.ts'
import type { Instance } from '../../../drivers/runtime/runtime.ts'
import type { InstanceRow } from '../../../platform/db/tables/deployments.ts'
import { noteAddress } from '../addresses.ts'
import { DeployFailed, PortTaken } from '../deploy-failed.ts'
import type { DeploymentsDeps } from '../deps.ts'
import type { Unit } from '../plan/deployed.ts'
import { policyOf } from '../plan/restart-policy.ts'
import { updateInstance } from '../store.ts'
import { crashText } from './crash-text.ts'
import { adviceFor } from './health-advice.ts'
import { checkedAt } from './health-messages.ts'
import { listeningInside } from './listening-inside.ts'

const defaultTimeoutSeconds = 60
const probeMs = 5_000
const pauseMs = 250
/** A worker has no port to probe: it must stay up this long. */
const workerSettlesMs = 3_000
const tailLines = 20
const exitCodeMs = 5_000
/** Time after which the runtime counts as hung; a read normally takes far less. */
const tailMs = 30_000

interface Parts {
  deps: DeploymentsDeps
  abort: AbortSignal
}

/**
 * Resolves when the instance serves, or has completed its work; its restart policy applies from then on. Rejects with the reason:
 * last status, exit code, last log lines.
 */
export async function waitUntilHealthy(row: InstanceRow, unit: Unit, check: HealthCheck | null, parts: Parts): Promise<void> {
  const { deps, abort } = parts
  const outcome = await untilHealthy(row, unit, check, parts)
  if (outcome === 'serves') await deps.runtimes.for(row.serverId).setRestart(row.id, policyOf(unit), abort)
  else if (row.completed === 0) await updateInstance(deps.database.db, row.id, { completed: 1 })
}

async function untilHealthy(
  row: InstanceRow,
  unit: Unit,
  check: HealthCheck | null,
  { deps, abort }: Parts,
): Promise<'serves' | 'completed'> {
  let timeoutMs: number
  let failing: HealthProgram | undefined
  let lastReason = 'no response'
  let lastStatus: number | null = null
  let answerMs = probeMs
  let seen: Instance | undefined
  let before: Instance | undefined
  const began = performance.now()
  for (;;) {
    abort.throwIfAborted()
    const instance = await deps.runtimes.for(row.serverId).inspect(row.id)
    if (instance && hasDoneItsWork(instance, unit)) return 'completed'
    if (!instance || instance.state === 'exited' || instance.state === 'restarting' || hasRestarted(instance, before))
      throw await ended(row, unit, instance, deps)
    before ??= instance
    if (instance.portTaken && instance.state === 'running')
      throw new PortTaken(instance.portTaken, named(row), await lastLines(row, deps))
    seen = instance
    const program = programOf(instance, unit)
    timeoutMs = timeoutSecondsFor(unit, check, program) * 1000
    const deadline = began + timeoutMs
    // A one-shot service has to finish its work, as other services may wait for it.
    const settlesMs = unit.restart || unit.staysUp ? workerSettlesMs : timeoutMs - pauseMs * 2
    if (program && !unit.exposed) {
      const reason = await runHealthProgram(row, program, { deps, abort })
      if (reason === null) return 'serves'
      failing = program
      lastReason = reason
    } else if (unit.port === null || !instance.address) {
      if (unit.port === null && performance.now() - began >= settlesMs) return 'serves'
    } else {
      const requested = performance.now()
      const limitMs = Math.min(answerMs, Math.max(250, Math.round(deadline - requested)))
      const answer = await deps.probe({ ...instance.address, ...questionFor(unit, check) }, limitMs, abort)
      const reason = answer.healthy && program ? await runHealthProgram(row, program, { deps, abort }) : null
      if (answer.healthy && reason === null) {
        // The program may listen on another port than PORT: store the address for the edge.
        await noteAddress(row, instance, deps)
        return 'serves'
      }
      // An earlier response tells more than a last probe that had no time left.
      if (answer.healthy) {
        failing = program
        lastReason = reason ?? ''
      } else if (answer.status !== null || lastStatus === null) {
        failing = undefined
        lastStatus = answer.status
        lastReason = answer.reason
      }
      // Some apps are slow to answer first and start over with each request: allow each probe more time.
      if (performance.now() - requested >= limitMs) answerMs *= 2
    }
    if (performance.now() >= deadline) break
    await pause(pauseMs, undefined, { signal: abort })
  }
  const reason = { status: lastStatus, message: lastReason, withinSeconds: timeoutMs / 1000 }
  throw await notHealthy({ row, unit, check, seen, failing }, reason, deps)
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

interface Requested {
  row: InstanceRow
  unit: Unit
  check: HealthCheck | null
  /** State at the last check. */
  seen: Instance | undefined
  /** The declared health check, if that is the one that failed. */
  failing: HealthProgram | undefined
}

/** The error for an unhealthy instance: the request, the result, and advice. */
async function notHealthy(
  { row, unit, check, seen, failing }: Requested,
  { status, message, withinSeconds }: { status: number | null; message: string; withinSeconds: number },
  deps: DeploymentsDeps,
): Promise<DeployFailed> {
  const { where, found } = failing ? declaredCheck(failing) : checkedAt(seen, unit, check, status)
  const port = failing ? null : unit.port
  const listening = status === null && port !== null ? await listeningInside(deps.runtimes.for(row.serverId), row.id) : null
  const advice = adviceFor({ port, status, check, listening })
  const requested = `${named(row)} was not healthy within ${withinSeconds} s: ${where}: ${message}`
  return new DeployFailed('unhealthy', [requested, found || advice].filter(Boolean).join('. '), await lastLines(row, deps))
}

const declaredCheck = ({ argv }: HealthProgram) => ({
  where: `its own health check (${argv.join(' ')})`,
  found:
    'Fix the HEALTHCHECK of the Dockerfile or the healthcheck of the Compose file, ' +
    'or set healthCheck.timeoutSeconds if it needs longer to start',
})

/**
 * The probe of a unit. The exposed unit is probed over HTTP: an open connection proves little, as Docker's proxy accepts all of
 * them. Without a configured path, any response below 500 passes.
 */
export function questionFor(unit: Pick<Unit, 'exposed'>, check: HealthCheck | null): Omit<ProbeTarget, 'host' | 'port'> {
  const below = check?.acceptErrors ? { healthyBelow: 600 } : {}
  if (check?.path) return { path: check.path, ...below }
  return unit.exposed ? { path: '/', healthyBelow: 500, anyProtocol: true, ...below } : {}
}

/** A one-shot service, such as a migration, is healthy once it exited with 0; never the exposed one. */
export const hasDoneItsWork = (
  { state, exitCode }: Pick<Instance, 'state' | 'exitCode'>,
  { restart, exposed = false }: Pick<Unit, 'restart'> & Partial<Pick<Unit, 'exposed'>>,
) => !restart && !exposed && state === 'exited' && exitCode === 0

/** Ignores restarts from before the wait: a database that serves two versions may have had some. */
const hasRestarted = (instance: Instance, before: Instance | undefined): boolean =>
  instance.restarts > (before?.restarts ?? instance.restarts)

/** Runs the health check program; returns null when healthy, else the reason. */
async function runHealthProgram({ id, serverId }: InstanceRow, { argv, timeoutSeconds }: HealthProgram, { deps, abort }: Parts) {
  const limit = AbortSignal.timeout(timeoutSeconds * 1000)
  try {
    const { exitCode, stderrTail } = await deps.runtimes.for(serverId).exec(id, { argv }, AbortSignal.any([abort, limit]))
    return exitCode === 0 ? null : `exit code ${exitCode}${stderrTail ? `: ${stderrTail.trim().slice(-200)}` : ''}`
  } catch (error) {
    abort.throwIfAborted()
    return limit.aborted ? `timed out after ${timeoutSeconds} s` : (error as Error).message
  }
}

async function ended(row: InstanceRow, unit: Unit, seen: Instance | undefined, deps: DeploymentsDeps): Promise<DeployFailed> {
  const lines = await lastLines(row, deps)
  const instance = await withExitCode(row, seen, deps)
  if (!instance) return new DeployFailed('crashed', `${named(row)} is gone`, lines)
  if (instance.portTaken && !instance.outOfMemory && !instance.diskFull)
    return new PortTaken(instance.portTaken, named(row), lines)
  const missing = row.runtime === 'process' ? missingTool(instance.exitCode, lines) : null
  if (missing) return new DeployFailed('crashed', missing, lines)
  return new DeployFailed('crashed', crashText(named(row), instance, unit, lines), lines)
}

/** Waits for the exit code: an instance that was just restarted has none until it exits again. */
async function withExitCode({ id, serverId }: InstanceRow, seen: Instance | undefined, { runtimes }: DeploymentsDeps) {
  let instance = seen
  for (const until = performance.now() + exitCodeMs; instance && performance.now() < until; ) {
    if (instance.exitCode !== null || instance.outOfMemory) break
    await pause(50)
    instance = (await runtimes.for(serverId).inspect(id)) ?? instance
  }
  return instance
}

const named = ({ service }: InstanceRow) => (service ? `The service ${service}` : 'The new version')

/** The last output lines, read from the runtime because the log store may lag behind. */
async function lastLines({ id, projectId, serverId }: InstanceRow, { runtimes, scrubbers }: DeploymentsDeps): Promise<string[]> {
  const { scrub } = await scrubbers.of(projectId)
  const lines: string[] = []
  const limit = AbortSignal.timeout(tailMs)
  try {
    for await (const { message } of runtimes.for(serverId).logs(id, null, limit, { follow: false })) {
      lines.push(scrub(message))
      if (lines.length > tailLines) lines.shift()
    }
  } catch {
    // Missing log lines must not hide the reason of the failure.
  }
  return lines
}
