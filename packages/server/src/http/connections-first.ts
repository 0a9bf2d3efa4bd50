import type { IncomingMessage } from 'node:http'

/** How long a request waits at most while connections come in. */
const longestWaitMs = 250
/** While connections come in, one request of a caller is begun in this time. */
const everyMs = 10
const knownCallers = 10_000

interface WaitingRequest {
  since: number
  request: IncomingMessage
  begin(): void
}

/**
 * Begins requests after the connections that are coming in. Node accepts one connection in a turn of the event loop: if each of them were routed, authorized
 * and answered in that turn, the connection of another caller would be accepted only after all that. Meanwhile each caller has one request begun now and then;
 * afterwards one request of each caller is begun in a turn. A request whose client goes away while it waits is not begun.
 */
export class ConnectionsFirst {
  readonly #waiting = new Map<string, WaitingRequest[]>()
  /** When a request of the caller was begun while connections come in. */
  readonly #begun = new Map<string, number>()
  #isAccepting = false
  /** In this turn of the event loop. */
  #hasAccepted = false
  #isScheduled = false

  /** Called for each accepted connection. */
  noteConnection(): void {
    this.#hasAccepted = true
    if (this.#isAccepting) return
    this.#isAccepting = true
    this.#endWithoutAnother()
  }

  /** A turn in which no connection was accepted is the end. */
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

  /** Begins one request of each caller. */
  #beginWaiting(): void {
    const now = performance.now()
    for (const [caller, queue] of this.#waiting) {
      const left = queue.findIndex(({ request }) => !request.socket.destroyed)
      queue.splice(0, left < 0 ? queue.length : left)
      const [first] = queue
      if (first && (now - first.since >= longestWaitMs || this.#mayBegin(caller, now))) {
        queue.shift()
        first.begin()
      }
      if (queue.length === 0) this.#waiting.delete(caller)
    }
  }
}

/** Whoever sends the same credential is one caller; without any, whoever has the same address. */
const callerOf = ({ headers, socket }: IncomingMessage): string =>
  headers.authorization ?? headers.cookie ?? socket.remoteAddress ?? ''
