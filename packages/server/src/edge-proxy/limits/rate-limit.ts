import type { RateLimitConfig } from '../protocol/edge-table.ts'

/** Usage of a limit by one client. */
interface Usage {
  windowStart: number
  used: number
  usedInPreviousWindow: number
  savedBurst: number
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
  /** True with several workers: each reports the requests it allowed to the others, so that the limit covers all of them. */
  #isShared = false

  constructor(config: RateLimitConfig, maxClients = 20_000) {
    this.#windowMs = config.windowSeconds * 1000
    this.#requests = config.requests
    this.#burst = config.burst ?? 0
    this.#maxClients = maxClients
  }

  /** 0: allowed. Otherwise the seconds after which the client should retry. */
  take(client: string, now: number): number {
    const usage = this.#usage(client, now)
    const previousShare = usage.usedInPreviousWindow * (1 - (now - usage.windowStart) / this.#windowMs)
    if (usage.used + previousShare < this.#requests) usage.used += 1
    else if (usage.savedBurst >= 1) usage.savedBurst -= 1
    else return Math.max(1, Math.ceil(this.#waitMs(usage, now) / 1000))
    if (this.#isShared) this.#changes.set(client, (this.#changes.get(client) ?? 0) + 1)
    return 0
  }

  enableSharing(): void {
    this.#isShared = true
  }

  takeChanges(): [string, number][] {
    const changes = [...this.#changes]
    this.#changes.clear()
    return changes
  }

  get clients(): number {
    return this.#clients.size
  }

  addRemoteCount(client: string, count: number, now: number): void {
    this.#usage(client, now).used += count
  }

  #usage(client: string, now: number): Usage {
    const usage = this.#clients.get(client)
    if (!usage) return this.#addClient(client, now)
    const passedWindows = Math.floor((now - usage.windowStart) / this.#windowMs)
    if (passedWindows > 0) {
      const unused = Math.max(0, this.#requests - usage.used) + (passedWindows - 1) * this.#requests
      usage.savedBurst = Math.min(this.#burst, usage.savedBurst + unused)
      usage.usedInPreviousWindow = passedWindows === 1 ? usage.used : 0
      usage.used = 0
      // A client that was quiet for a whole window starts anew: its next window begins with this request.
      usage.windowStart = usage.usedInPreviousWindow === 0 ? now : usage.windowStart + passedWindows * this.#windowMs
    }
    return usage
  }

  #addClient(client: string, now: number): Usage {
    if (this.#clients.size >= this.#maxClients) this.#evict(now)
    const usage = { windowStart: now, used: 0, usedInPreviousWindow: 0, savedBurst: this.#burst }
    this.#clients.set(client, usage)
    return usage
  }

  /** Forgets the oldest client, and among the oldest tenth those whose windows are over. */
  #evict(now: number): void {
    let checkedCount = 0
    for (const [client, usage] of this.#clients) {
      if (checkedCount === 0 || now - usage.windowStart > 2 * this.#windowMs) this.#clients.delete(client)
      checkedCount += 1
      if (checkedCount > this.#maxClients / 10) break
    }
  }

  /** Time until the client's next request is allowed. */
  #waitMs(usage: Usage, now: number): number {
    const elapsedMs = now - usage.windowStart
    if (usage.used < this.#requests && usage.usedInPreviousWindow > 0) {
      // The previous window still counts too much: its share has to fall to what this window leaves free.
      const fadedShare = 1 - (this.#requests - usage.used) / usage.usedInPreviousWindow
      return Math.max(0, fadedShare * this.#windowMs - elapsedMs)
    }
    // This window is full: it has to end and then, as the previous window, to fall below the limit.
    const fadedShare = Math.max(0, 1 - this.#requests / Math.max(1, usage.used))
    return this.#windowMs - elapsedMs + fadedShare * this.#windowMs
  }
}
