import type { IncomingMessage } from 'node:http'

/** Maximum time that a request waits while connections come in. */
const maxWaitMs = 250
/** Interval at which one request per caller is started while connections come in. */
const everyMs = 10
const knownCallers = 10_000

interface WaitingRequest {
  since: number
  request: IncomingMessage
  begin(): void
}

/**
 * Starts requests after incoming connections are accepted. Node accepts one connection per event loop turn: if each request were
 * handled in that turn, another caller's connection would wait for all of them. While connections come in, each caller gets one
 * request started per interval; afterwards one per turn. A queued request whose client disconnects is dropped.
 */
export class ConnectionsFirst {
  readonly #waiting = new Map<string, WaitingRequest[]>()
  /** When a request of each caller was last started while connections come in. */
  readonly #begun = new Map<string, number>()
  #isAccepting = false
  /** Whether a connection was accepted in this event loop turn. */
  #hasAccepted = false
  #isScheduled = false

  /** Called for each accepted connection. */
  noteConnection(): void {
    this.#hasAccepted = true
    if (this.#isAccepting) return
    this.#isAccepting = true
    this.#endWithoutAnother()
  }

  /** Ends the accepting phase after a turn without a new connection. */
  #endWithoutAnother(): void {
    setImmediate(() => {
      this.#isAccepting = this.#hasAccepted
      this.#hasAccepted = false
      if (this.#isAccepting) this.#endWithoutAnother()
    })
  }

  begin(request: IncomingMessage, begin: () => void): void {
    const caller = callerOf(request)
    const queue = this.#waiting.get(caller)
    if (!queue && this.#mayBegin(caller, performance.now())) {
      begin()
      return
    }
    const waiting = { since: performance.now(), request, begin }
    if (queue) queue.push(waiting)
    else this.#waiting.set(caller, [waiting])
    this.#schedule()
  }

  #mayBegin(caller: string, now: number): boolean {
    if (!this.#isAccepting) {
      this.#begun.clear()
      return true
    }
    if (now - (this.#begun.get(caller) ?? Number.NEGATIVE_INFINITY) < everyMs) return false
    if (this.#begun.size >= knownCallers) this.#begun.clear()
    this.#begun.set(caller, now)
    return true
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#beginWaiting()
      if (this.#waiting.size > 0) this.#schedule()
    })
  }

  /** Starts one queued request of each caller. */
  #beginWaiting(): void {
    const now = performance.now()
    for (const [caller, queue] of this.#waiting) {
      const left = queue.findIndex(({ request }) => !request.socket.destroyed)
      queue.splice(0, left < 0 ? queue.length : left)
      const [first] = queue
      if (first && (now - first.since >= maxWaitMs || this.#mayBegin(caller, now))) {
        queue.shift()
        first.begin()
      }
      if (queue.length === 0) this.#waiting.delete(caller)
    }
  }
}

/** Identifies a caller by its credential; without one, by its address. */
const callerOf = ({ headers, socket }: IncomingMessage): string =>
  headers.authorization ?? headers.cookie ?? socket.remoteAddress ?? ''
