import { type RateLimitName, rateLimits } from '@berth/contract'
import { fail } from '../platform/failure.ts'
import type { Signals } from '../platform/signals/signals.ts'
import { SharedLimits } from './shared-limits.ts'

const names = Object.keys(rateLimits) as RateLimitName[]
const windowMs = 60_000
/** Maximum number of keys; then the oldest are dropped. It limits the memory that an attacker with many addresses can use. */
const maximumKeys = 50_000

interface Window {
  startedAt: number
  count: number
}

/** Counts requests in one-minute windows, in memory. `share` adds the counts of the instance's other processes. */
export class RateLimiter {
  /** Separate maps per limit: flooding one of them evicts no keys of another. */
  readonly #windows = new Map(names.map((name) => [name, new Map<string, Window>()]))
  readonly #now: () => number
  readonly #limits: Record<RateLimitName, number>
  #shared: SharedLimits | undefined

  constructor(
    now: () => number = Date.now,
    { scale = 1, ...limits }: Partial<Record<RateLimitName, number>> & { scale?: number } = {},
  ) {
    this.#now = now
    const scaled = Object.fromEntries(Object.entries(rateLimits).map(([name, limit]) => [name, limit * scale]))
    this.#limits = { ...(scaled as Record<RateLimitName, number>), ...limits }
  }

  /** Shares the counts with the instance's other processes. Returns the function that ends it. */
  share(signals: Signals): () => void {
    const shared = new SharedLimits(signals, (name, key, count) => this.#add(name, key, count))
    this.#shared = shared
    return () => shared.close()
  }

  /** Counts a request of `key` (a client, a user or an account); throws `rate_limited` above the limit. */
  count(name: RateLimitName, key: string): void {
    const now = this.#now()
    const current = this.#add(name, key, 1)
    const limit = this.#limits[name]
    if (current.count <= limit) {
      this.#shared?.note(name, key, 1, { total: current.count, limit })
      return
    }
    const retryAfterSeconds = Math.max(1, Math.ceil((current.startedAt + windowMs - now) / 1000))
    fail('rate_limited', { retryAfterSeconds, message: `Too many requests. Try again in ${retryAfterSeconds} s.` })
  }

  /** Undoes a `count`, for a request that must not count. */
  uncount(name: RateLimitName, key: string): void {
    const current = this.#windows.get(name)?.get(key)
    if (!current || current.count === 0) return
    current.count -= 1
    this.#shared?.note(name, key, -1, { total: current.count, limit: this.#limits[name] })
  }

  #add(name: RateLimitName, key: string, count: number): Window {
    const now = this.#now()
    const windows = this.#windows.get(name)!
    const current = windows.get(key)
    // The difference is negative after the clock was set back.
    if (!current || Math.abs(now - current.startedAt) >= windowMs) return start(windows, key, now, count)
    current.count = Math.max(0, current.count + count)
    return current
  }
}

function start(windows: Map<string, Window>, key: string, now: number, count: number): Window {
  const started = { startedAt: now, count: Math.max(0, count) }
  windows.delete(key)
  windows.set(key, started)
  if (windows.size <= maximumKeys) return started
  const oldest = windows.keys().next().value
  if (oldest !== undefined) windows.delete(oldest)
  return started
}
