import { randomBytes } from 'node:crypto'
import type { InstanceUsage } from '../../../drivers/runtime/runtime.ts'
import { saveUsage, type UsageMinute } from '../../projects/index.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { UsageTotals } from './usage-totals.ts'

const minuteMs = 60_000
/**
 * Age limit for counting all CPU time since the start in the first sample; for an older instance the first sample only sets the
 * baseline.
 */
const maxBaselineAgeMs = 2 * minuteMs
/** Remote servers are sampled on every fourth round: each container is read over the network. */
const roundsPerRemoteSample = 4
const sampleKeptMs = 10 * minuteMs

/** Samples the resource usage of all instances and stores sums per environment and minute. */
export class UsageSampler {
  readonly #deps: DeploymentsDeps
  /** Identifies this control plane process: several may sample the same instances. */
  readonly #counter = `use.${randomBytes(6).toString('base64url')}`
  /** Totals of this process, for metrics. */
  readonly totals = new UsageTotals()
  readonly #before = new Map<string, { cpuSeconds: number; at: number }>()
  #minutes = new Map<string, UsageMinute>()
  #checks = 0

  constructor(deps: DeploymentsDeps) {
    this.#deps = deps
  }

  async check(abort: AbortSignal): Promise<void> {
    const usage = await this.#usage(abort)
    const now = nowOf(this.#deps)
    const at = Math.floor(now / minuteMs) * minuteMs
    const minutes = new Map<string, UsageMinute>()
    for (const [key, running] of Map.groupBy(usage, ({ owner }) => `${owner.projectId}/${owner.environment}`)) {
      const { projectId, environment } = running[0]!.owner
      const currentMinute = this.#minutes.get(key)
      const minute =
        currentMinute?.at === at ? currentMinute : { counter: this.#counter, projectId, environment, at, ...zeroUsage }
      const spent = this.#spent(running, now)
      this.totals.addCpu(projectId, environment, spent.cpuMs)
      minutes.set(key, addUsage(minute, running, spent))
    }
    this.totals.setMemory(usage)
    this.#minutes = minutes
    for (const { instanceId, cpuSeconds } of usage) this.#before.set(instanceId, { cpuSeconds, at: now })
    for (const [instanceId, before] of this.#before) if (now - before.at > sampleKeptMs) this.#before.delete(instanceId)
    await saveUsage([...minutes.values()], this.#deps.database)
  }

  /** Usage of all instances; remote servers are included only on their round. */
  async #usage(abort: AbortSignal): Promise<InstanceUsage[]> {
    const includesRemote = this.#checks++ % roundsPerRemoteSample === 0
    const locations = (await this.#deps.runtimes.all()).filter(({ serverId }) => serverId === null || includesRemote)
    const checks = locations.map(({ serverId, runtime }) =>
      runtime.usage(abort).catch((error: unknown) => {
        abort.throwIfAborted()
        this.#deps.log.debug({ err: error, serverId }, 'deployments: usage not measured')
        return []
      }),
    )
    return (await Promise.all(checks)).flat()
  }

  /** CPU time since the last sample, and the time since that sample. */
  #spent(running: readonly InstanceUsage[], now: number): { cpuMs: number; observedMs: number } {
    let [cpuMs, observedMs] = [0, 0]
    for (const { instanceId, cpuSeconds, startedAt } of running) {
      const age = now - Date.parse(startedAt ?? '')
      const before =
        this.#before.get(instanceId) ?? (age <= maxBaselineAgeMs ? { cpuSeconds: 0, at: now - Math.max(age, 1000) } : undefined)
      if (!before) continue
      // A lower value means that the instance was restarted.
      const spent = cpuSeconds >= before.cpuSeconds ? cpuSeconds - before.cpuSeconds : cpuSeconds
      cpuMs += spent * 1000
      observedMs = Math.max(observedMs, now - before.at)
    }
    return { cpuMs, observedMs }
  }
}

const zeroUsage = { cpuMs: 0, observedMs: 0, memoryKb: 0 }

function addUsage(
  minute: UsageMinute,
  running: readonly InstanceUsage[],
  spent: { cpuMs: number; observedMs: number },
): UsageMinute {
  const memoryBytes = running.reduce((total, one) => total + one.memoryBytes, 0)
  return {
    ...minute,
    cpuMs: minute.cpuMs + Math.round(spent.cpuMs),
    observedMs: minute.observedMs + Math.round(spent.observedMs),
    memoryKb: Math.max(minute.memoryKb, Math.round(memoryBytes / 1024)),
  }
}
