import { type RateLimitName, rateLimits } from '@berth/contract'
import { fail } from '../platform/failure.ts'

const names = Object.keys(rateLimits) as RateLimitName[]
const windowMs = 60_000
/** Maximum number of keys; then the oldest are dropped. It limits the memory that an attacker with many addresses can use. */
const maximumKeys = 50_000

interface Window {
  startedAt: number
  count: number
}

/** Counts requests in one-minute windows, in memory: each control plane counts separately. */
export class RateLimiter {
  /** Separate maps per limit: flooding one of them evicts no keys of another. */
  readonly #windows = new Map(names.map((name) => [name, new Map<string, Window>()]))
  readonly #now: () => number
  readonly #limits: Record<RateLimitName, number>

  constructor(
    now: () => number = Date.now,
    { scale = 1, ...limits }: Partial<Record<RateLimitName, number>> & { scale?: number } = {},
  ) {
    this.#now = now
    const scaled = Object.fromEntries(Object.entries(rateLimits).map(([name, limit]) => [name, limit * scale]))
    this.#limits = { ...(scaled as Record<RateLimitName, number>), ...limits }
  }

  /** Counts a request of `key` (a client, a user or an account); throws `rate_limited` above the limit. */
  count(name: RateLimitName, key: string): void {
    const now = this.#now()
    const windows = this.#windows.get(name)!
    const current = windows.get(key)
    // The clock may be set back.
    if (!current || Math.abs(now - current.startedAt) >= windowMs) {
      start(windows, key, now)
      return
    }
    current.count += 1
    if (current.count <= this.#limits[name]) return
    const retryAfterSeconds = Math.max(1, Math.ceil((current.startedAt + windowMs - now) / 1000))
    fail('rate_limited', { retryAfterSeconds, message: `Too many requests. Try again in ${retryAfterSeconds} s.` })
  }

  /** Undoes a `count`, for a request that must not count. */
  uncount(name: RateLimitName, key: string): void {
    const current = this.#windows.get(name)?.get(key)
    if (current && current.count > 0) current.count -= 1
  }
}

function start(windows: Map<string, Window>, key: string, now: number): void {
  windows.delete(key)
  windows.set(key, { startedAt: now, count: 1 })
  if (windows.size <= maximumKeys) return
  const oldest = windows.keys().next().value
  if (oldest !== undefined) windows.delete(oldest)
}
