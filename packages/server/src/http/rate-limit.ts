import { type RateLimitName, rateLimits } from '@berth/contract'
import { fail } from '../failure.ts'

const windowMs = 60_000
/** Beyond this many keys the oldest are forgotten: an attacker with many addresses costs memory only up to here. */
const maximumKeys = 50_000

interface Window {
  startedAt: number
  count: number
}

/** Counts requests in windows of a minute. In memory: each control plane counts for itself. */
export class RateLimiter {
  readonly #windows = new Map<string, Window>()
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

  /** Counts one request of `who` (an address or a user); throws `rate_limited` when it is one too many. */
  take(name: RateLimitName, who: string): void {
    const key = `${name} ${who}`
    const now = this.#now()
    const current = this.#windows.get(key)
    if (!current || now - current.startedAt >= windowMs) {
      this.#start(key, now)
      return
    }
    current.count += 1
    if (current.count <= this.#limits[name]) return
    const retryAfterSeconds = Math.max(1, Math.ceil((current.startedAt + windowMs - now) / 1000))
    fail('rate_limited', { retryAfterSeconds, words: `Too many requests: try again in ${retryAfterSeconds} s` })
  }

  #start(key: string, now: number): void {
    this.#windows.delete(key)
    this.#windows.set(key, { startedAt: now, count: 1 })
    if (this.#windows.size > maximumKeys) {
      const oldest = this.#windows.keys().next().value
      if (oldest !== undefined) this.#windows.delete(oldest)
    }
  }
}
