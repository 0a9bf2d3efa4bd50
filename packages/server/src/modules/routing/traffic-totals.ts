import type { TrafficMinute } from '../../edge-proxy/protocol/traffic.ts'
import { addLatency, latencyBuckets } from '../../platform/latency-histogram.ts'

export interface Totals {
  requests: number
  errors4xx: number
  errors5xx: number
  bytesOut: number
}

const minuteMs = 60_000
const forgottenAfterMs = 30 * minuteMs
const keys = ['requests', 'errors4xx', 'errors5xx', 'bytesOut'] as const

/**
 * Totals of the traffic since this process started. The edge sends a minute again, always complete, whenever it has grown; the growth
 * is added. A minute that began before this process is left out: an earlier process counted it.
 */
export class TrafficTotals {
  readonly #since: number
  /** The two newest minutes of each counter: older ones do not grow any more. */
  readonly #newest = new Map<string, TrafficMinute[]>()
  readonly #totals = new Map<string, Totals>()
  readonly latency = new Float64Array(latencyBuckets)

  constructor(now: number) {
    this.#since = Math.ceil(now / minuteMs) * minuteMs - minuteMs
  }

  add(minute: TrafficMinute): void {
    if (minute.at < this.#since) return
    const newest = this.#newest.get(minute.counter) ?? []
    const before = newest.find(({ at }) => at === minute.at)
    if (!before && newest.length === 2 && newest.every(({ at }) => at > minute.at)) return
    const kept = [...newest.filter((one) => one !== before), minute].sort((one, other) => one.at - other.at)
    this.#newest.set(minute.counter, kept.slice(-2))
    const totals = this.of(minute.projectId, minute.environment) ?? { requests: 0, errors4xx: 0, errors5xx: 0, bytesOut: 0 }
    for (const key of keys) totals[key] += Math.max(0, minute[key] - (before?.[key] ?? 0))
    this.#totals.set(keyOf(minute.projectId, minute.environment), totals)
    addLatency(this.latency, minute.latency)
    if (before) subtractLatency(this.latency, before.latency)
  }

  of(projectId: string, environment: string): Totals | undefined {
    return this.#totals.get(keyOf(projectId, environment))
  }

  /** Forgets environments that no longer exist, and counters that have ended. */
  keepOnly(environments: Iterable<{ projectId: string; slug: string }>, now: number): void {
    const existing = new Set(Array.from(environments, ({ projectId, slug }) => keyOf(projectId, slug)))
    for (const key of this.#totals.keys()) if (!existing.has(key)) this.#totals.delete(key)
    for (const [counter, minutes] of this.#newest)
      if (minutes.every(({ at }) => at < now - forgottenAfterMs)) this.#newest.delete(counter)
  }
}

const keyOf = (projectId: string, environment: string) => `${projectId}/${environment}`

function subtractLatency(from: Float64Array, packed: readonly number[]): void {
  const counted = new Float64Array(from.length)
  addLatency(counted, packed)
  for (let bucket = 0; bucket < from.length; bucket++) from[bucket]! -= counted[bucket]!
}
