import type { Awaitable } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'

/** Reads of one caller: how many are computed at once, and how many wait. All that wait have a bound as well. */
export const readBounds = { atOnce: 4, waiting: 128, waitingOfAll: 1024 }
/** How long connections that come in go first. */
const connectionsFirstMs = 250

/** Returned instead of an answer where the client has gone away before it was computed. */
export const clientGone = Symbol('the client has gone away')

interface WaitingRead {
  since: number
  isGone(): boolean
  start(): void
  drop(): void
}

interface Caller {
  running: number
  waiting: WaitingRead[]
}

/**
 * Bounds the reads that are computed at once for one caller. Others wait, a bounded number of them; more are refused at once. A read whose client goes away
 * while it waits is not computed. Node accepts one connection in a turn of the event loop: while more come in, reads wait, or another caller's connection would
 * be accepted only after all that.
 */
export class ReadSlots {
  readonly #callers = new Map<string, Caller>()
  #waiting = 0
  #isAccepting = false
  #isScheduled = false

  /** To be called for each connection that is accepted. */
  noteConnection(): void {
    if (this.#isAccepting) return
    this.#isAccepting = true
    // The next one is accepted in the next turn.
    setImmediate(() =>
      setImmediate(() => {
        this.#isAccepting = false
      }),
    )
  }

  run<T>(who: string, isGone: () => boolean, read: () => Awaitable<T>): Awaitable<T | typeof clientGone> {
    if (isGone()) return clientGone
    const caller = this.#callers.get(who) ?? { running: 0, waiting: [] }
    if (caller.running < readBounds.atOnce && !this.#isAccepting) return this.#start(who, caller, read)
    if (caller.waiting.length >= readBounds.waiting || this.#waiting >= readBounds.waitingOfAll)
      return fail('unavailable', { retryAfterSeconds: 1, words: 'Too many requests are waiting. Try again in 1 s.' })
    this.#waiting += 1
    this.#callers.set(who, caller)
    return new Promise((resolve) => {
      const start = () => resolve(new Promise((answered) => answered(this.#start(who, caller, read) as T)))
      caller.waiting.push({ since: performance.now(), isGone, start, drop: () => resolve(clientGone) })
      if (caller.running < readBounds.atOnce) this.#schedule()
    })
  }

  /** A read whose rows are in memory answers at once and needs no place. */
  #start<T>(who: string, caller: Caller, read: () => Awaitable<T>): Awaitable<T> {
    const answer = read()
    if (!(answer instanceof Promise)) return answer
    caller.running += 1
    this.#callers.set(who, caller)
    return answer.finally(() => {
      caller.running -= 1
      if (caller.waiting.length > 0) this.#schedule()
      else if (caller.running === 0) this.#callers.delete(who)
    })
  }

  /** In a turn of its own: other callers' requests come in between. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#startWaiting()
    })
  }

  /** One read of each caller that has a free place. */
  #startWaiting(): void {
    const now = performance.now()
    for (const [who, caller] of this.#callers) {
      if (caller.running >= readBounds.atOnce) continue
      this.#startNext(caller, now)
      if (caller.waiting.length > 0 && caller.running < readBounds.atOnce) this.#schedule()
      else if (caller.waiting.length === 0 && caller.running === 0) this.#callers.delete(who)
    }
  }

  #startNext({ waiting }: Caller, now: number): void {
    for (let next = waiting[0]; next; next = waiting[0]) {
      const isGone = next.isGone()
      if (!isGone && this.#isAccepting && now - next.since < connectionsFirstMs) return
      waiting.shift()
      this.#waiting -= 1
      if (isGone) {
        next.drop()
        continue
      }
      next.start()
      return
    }
  }
}
