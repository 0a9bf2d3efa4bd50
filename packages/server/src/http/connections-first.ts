import type { IncomingMessage } from 'node:http'

/** Maximum time that a request waits while connections come in. */
const maxWaitMs = 250
/** Interval at which one request per caller is started while connections come in. */
const startIntervalMs = 10
const maxCallers = 10_000
/** Limits of the requests that are started in one turn when no connection came in: a connection waits for them. */
const maxStartsPerTurn = 32
const maxTurnMs = 5

interface QueuedRequest {
  queuedAt: number
  request: IncomingMessage
  start(): void
}

/**
 * Starts requests after incoming connections are accepted. Node accepts one connection per event loop turn: if each request were
 * handled in that turn, another caller's connection would wait for all of them. While connections come in, each caller gets one
 * request started per interval. Afterwards the callers take turns, some requests per event loop turn. A queued request whose client
 * disconnects is dropped.
 */
export class ConnectionsFirst {
  readonly #queues = new Map<string, QueuedRequest[]>()
  /** When a request of each caller was last started while connections come in. */
  readonly #lastStartedAt = new Map<string, number>()
  #isAccepting = false
  /** Whether a connection was accepted in this event loop turn. */
  #hasAccepted = false
  #isScheduled = false

  /** Called for each accepted connection. */
  noteConnection(): void {
    this.#hasAccepted = true
    if (this.#isAccepting) return
    this.#isAccepting = true
    this.#endAcceptingWhenIdle()
  }

  /** Ends the accepting phase after a turn without a new connection. */
  #endAcceptingWhenIdle(): void {
    setImmediate(() => {
      this.#isAccepting = this.#hasAccepted
      this.#hasAccepted = false
      if (this.#isAccepting) this.#endAcceptingWhenIdle()
    })
  }

  start(request: IncomingMessage, start: () => void): void {
    if (!this.#isAccepting && this.#queues.size === 0) {
      this.#lastStartedAt.clear()
      start()
      return
    }
    const caller = callerOf(request)
    const queue = this.#queues.get(caller)
    if (!queue && this.#mayStart(caller, performance.now())) {
      start()
      return
    }
    const queued = { queuedAt: performance.now(), request, start }
    if (queue) queue.push(queued)
    else this.#queues.set(caller, [queued])
    this.#schedule()
  }

  #mayStart(caller: string, now: number): boolean {
    if (!this.#isAccepting) {
      this.#lastStartedAt.clear()
      return true
    }
    if (now - (this.#lastStartedAt.get(caller) ?? Number.NEGATIVE_INFINITY) < startIntervalMs) return false
    if (this.#lastStartedAt.size >= maxCallers) this.#lastStartedAt.clear()
    this.#lastStartedAt.set(caller, now)
    return true
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#startQueued()
      if (this.#queues.size > 0) this.#schedule()
    })
  }

  #startQueued(): void {
    const endAt = performance.now() + maxTurnMs
    let started = this.#startOneOfEach()
    while (!this.#isAccepting && this.#queues.size > 0 && started < maxStartsPerTurn && performance.now() < endAt)
      started += this.#startOneOfEach()
  }

  /** Starts one queued request of each caller; returns how many. */
  #startOneOfEach(): number {
    const now = performance.now()
    let started = 0
    for (const [caller, queue] of this.#queues) {
      const firstConnected = queue.findIndex(({ request }) => !request.socket.destroyed)
      queue.splice(0, firstConnected < 0 ? queue.length : firstConnected)
      const [first] = queue
      if (first && (now - first.queuedAt >= maxWaitMs || this.#mayStart(caller, now))) {
        queue.shift()
        first.start()
        started += 1
      }
      if (queue.length === 0) this.#queues.delete(caller)
    }
    return started
  }
}

/** Identifies a caller by its credential; without one, by its address. */
const callerOf = ({ headers, socket }: IncomingMessage): string =>
  headers.authorization ?? headers.cookie ?? socket.remoteAddress ?? ''
