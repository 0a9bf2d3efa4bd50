import { randomBytes } from 'node:crypto'
import { bucketOf, latencyBuckets, packLatency } from '../../platform/latency-histogram.ts'
import type { TrafficMinute } from '../protocol/traffic.ts'

/** The current minute of one environment. Each route holds its counter, so that a request needs no look-up. */
export interface TrafficCounter {
  /** Sent as `TrafficMinute.counter`. */
  name: string
  readonly projectId: string
  readonly environment: string
  minute: number
  requests: number
  errors4xx: number
  errors5xx: number
  bytesOut: number
  readonly latency: Uint32Array
  /** True if it has grown since the last report. */
  isUnreported: boolean
}

interface ClosedMinute {
  minute: TrafficMinute
  isUnreported: boolean
}

const minuteMs = 60_000
/** A new control plane gets these last minutes again: the previous control plane may have died before it stored them. */
const keptMinutes = 15
/** Maximum number of unreported minutes without a control plane; above it the oldest are dropped. */
const maxClosedMinutes = 4_096

/** Traffic of each environment, per minute. */
export class TrafficCounters {
  readonly #counters = new Map<string, TrafficCounter>()
  readonly #counterPrefix = randomBytes(6).toString('base64url')
  #closedMinutes: ClosedMinute[] = []
  #counterCount = 0

  counterOf(projectId: string, environment: string): TrafficCounter {
    const key = `${projectId}/${environment}`
    const existing = this.#counters.get(key)
    if (existing) return existing
    const counter: TrafficCounter = {
      name: this.#nextName(),
      projectId,
      environment,
      minute: 0,
      requests: 0,
      errors4xx: 0,
      errors5xx: 0,
      bytesOut: 0,
      latency: new Uint32Array(latencyBuckets),
      isUnreported: false,
    }
    this.#counters.set(key, counter)
    return counter
  }

  /** Counts a request that has ended. */
  count(counter: TrafficCounter, now: number, answer: { status: number; bytesOut: number }, durationMs: number): void {
    const minute = Math.floor(now / minuteMs)
    if (minute !== counter.minute) this.#startMinute(counter, minute)
    counter.requests += 1
    if (answer.status >= 500) counter.errors5xx += 1
    else if (answer.status >= 400) counter.errors4xx += 1
    counter.bytesOut += answer.bytesOut
    // An upgraded connection stays open for an arbitrary time.
    if (answer.status !== 101) counter.latency[bucketOf(durationMs)]! += 1
    counter.isUnreported = true
  }

  /** The counts that have grown since the last call. */
  take(now: number): TrafficMinute[] {
    const changes: TrafficMinute[] = []
    for (const closedMinute of this.#closedMinutes) {
      if (closedMinute.isUnreported) changes.push(closedMinute.minute)
      closedMinute.isUnreported = false
    }
    const oldest = (Math.floor(now / minuteMs) - keptMinutes) * minuteMs
    if (this.#closedMinutes.length > 0) this.#closedMinutes = this.#closedMinutes.filter(({ minute }) => minute.at >= oldest)
    for (const counter of this.#counters.values()) {
      if (counter.isUnreported) changes.push(toMinute(counter))
      counter.isUnreported = false
    }
    return changes
  }

  /** Marks everything that is still known as unreported. */
  reportAgain(): void {
    for (const closedMinute of this.#closedMinutes) closedMinute.isUnreported = true
    for (const counter of this.#counters.values()) if (counter.requests > 0) counter.isUnreported = true
  }

  /**
   * Removes counters of projects that are neither in the current table nor in the previous one; their counts are still reported.
   */
  keepOnly(ids: ReadonlySet<string>, previousIds: ReadonlySet<string>): void {
    for (const [key, counter] of this.#counters) {
      if (ids.has(counter.projectId) || previousIds.has(counter.projectId)) continue
      this.#startMinute(counter, counter.minute)
      this.#counters.delete(key)
    }
  }

  #startMinute(counter: TrafficCounter, minute: number): void {
    if (counter.requests > 0) {
      this.#closedMinutes.push({ minute: toMinute(counter), isUnreported: true })
      if (this.#closedMinutes.length > maxClosedMinutes) this.#closedMinutes.shift()
    }
    // The clock was set back: the same minute of the same counter must not begin twice.
    if (minute < counter.minute) counter.name = this.#nextName()
    Object.assign(counter, { minute, requests: 0, errors4xx: 0, errors5xx: 0, bytesOut: 0, isUnreported: false })
    counter.latency.fill(0)
  }

  #nextName(): string {
    this.#counterCount += 1
    return `${this.#counterPrefix}.${this.#counterCount}`
  }
}

function toMinute({ name, minute, latency, isUnreported: _, ...counts }: TrafficCounter): TrafficMinute {
  return { counter: name, at: minute * minuteMs, latency: packLatency(latency), ...counts }
}
