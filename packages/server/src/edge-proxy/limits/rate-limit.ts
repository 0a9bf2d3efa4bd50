import type { RateLimitConfig } from '../protocol/edge-table.ts'

/** Usage of a limit by one client. */
interface Usage {
  windowStart: number
  used: number
  usedBefore: number
  saved: number
}

/**
 * A sliding window per client: the window starts with the client's first request, and the previous window counts with a decreasing
 * share, so no span of `windowSeconds` allows more than `requests`, apart from `burst`. Memory is bounded: above `maxClients`
 * the oldest client is forgotten.
 */
export class RateLimit {
  readonly #windowMs: number
  readonly #requests: number
  readonly #burst: number
  readonly #clients = new Map<string, Usage>()
  readonly #maxClients: number
  /** Requests allowed since the last report to the other workers. */
  #changes = new Map<string, number>()

  constructor(config: RateLimitConfig, maxClients = 20_000) {
    this.#windowMs = config.windowSeconds * 1000
    this.#requests = config.requests
    this.#burst = config.burst ?? 0
    this.#maxClients = maxClients
  }

  /** 0: allowed. Otherwise the seconds after which the client should retry. */
  take(client: string, now: number): number {
    const usage = this.#usage(client, now)
    const faded = usage.usedBefore * (1 - (now - usage.windowStart) / this.#windowMs)
    if (usage.used + faded < this.#requests) usage.used += 1
    else if (usage.saved >= 1) usage.saved -= 1
    else return Math.max(1, Math.ceil(this.#waitMs(usage, now) / 1000))
    if (this.#sharing) this.#changes.set(client, (this.#changes.get(client) ?? 0) + 1)
    return 0
  }

  /** True with several workers: each reports the requests it allowed to the others, so that the limit covers all of them. */
  #sharing = false

  share(): void {
    this.#sharing = true
  }

  takeChanges(): [string, number][] {
    const changes = [...this.#changes]
    this.#changes.clear()
    return changes
  }

  get clients(): number {
    return this.#clients.size
  }

  hear(client: string, count: number, now: number): void {
    this.#usage(client, now).used += count
  }

  #usage(client: string, now: number): Usage {
    const usage = this.#clients.get(client)
    if (!usage) return this.#meet(client, now)
    const passed = Math.floor((now - usage.windowStart) / this.#windowMs)
    if (passed > 0) {
      const unused = Math.max(0, this.#requests - usage.used) + (passed - 1) * this.#requests
      usage.saved = Math.min(this.#burst, usage.saved + unused)
      usage.usedBefore = passed === 1 ? usage.used : 0
      usage.used = 0
      // A client that was quiet for a whole window starts anew: its next window begins with this request.
      usage.windowStart = usage.usedBefore === 0 ? now : usage.windowStart + passed * this.#windowMs
    }
    return usage
  }

  #meet(client: string, now: number): Usage {
    if (this.#clients.size >= this.#maxClients) this.#forget(now)
    const usage = { windowStart: now, used: 0, usedBefore: 0, saved: this.#burst }
    this.#clients.set(client, usage)
    return usage
  }

  /** Forgets the oldest client, and among the oldest tenth those whose windows are over. */
  #forget(now: number): void {
    let looked = 0
    for (const [client, usage] of this.#clients) {
      if (looked === 0 || now - usage.windowStart > 2 * this.#windowMs) this.#clients.delete(client)
      looked += 1
      if (looked > this.#maxClients / 10) break
    }
  }

  #waitMs(usage: Usage, now: number): number {
    const left = this.#windowMs - (now - usage.windowStart)
    if (usage.used < this.#requests && usage.usedBefore > 0) {
      const fade = 1 - (this.#requests - usage.used) / usage.usedBefore
      return Math.max(0, fade * this.#windowMs - (now - usage.windowStart))
    }
    return left + Math.max(0, 1 - this.#requests / Math.max(1, usage.used)) * this.#windowMs
  }
}
