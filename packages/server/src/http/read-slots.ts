import type { Awaitable } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'

/** Reads of one caller: how many are computed at once, and how many wait. All that wait have a bound as well. */
export const readBounds = { atOnce: 8, waiting: 128, waitingOfAll: 1024 }

/** Returned instead of an answer where the client has gone away before it was computed. */
export const clientGone = Symbol('the client has gone away')

interface WaitingRead {
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
 * while it waits is not computed.
 */
export class ReadSlots {
  readonly #callers = new Map<string, Caller>()
  #waiting = 0

  run<T>(who: string, isGone: () => boolean, read: () => Awaitable<T>): Awaitable<T | typeof clientGone> {
    if (isGone()) return clientGone
    const caller = this.#callers.get(who) ?? { running: 0, waiting: [] }
    if (caller.running < readBounds.atOnce) return this.#start(who, caller, read)
    if (caller.waiting.length >= readBounds.waiting || this.#waiting >= readBounds.waitingOfAll)
      return fail('unavailable', { retryAfterSeconds: 1, words: 'Too many requests are waiting. Try again in 1 s.' })
    this.#waiting += 1
    return new Promise((resolve) => {
      const start = () => resolve(new Promise((answered) => answered(this.#start(who, caller, read) as T)))
      caller.waiting.push({ isGone, start, drop: () => resolve(clientGone) })
    })
  }

  /** A read whose rows are in memory answers at once and needs no place. */
  #start<T>(who: string, caller: Caller, read: () => Awaitable<T>): Awaitable<T> {
    const answer = read()
    if (!(answer instanceof Promise)) return answer
    caller.running += 1
    this.#callers.set(who, caller)
    // In a turn of its own: other callers' requests come in between.
    return answer.finally(() => setImmediate(() => this.#release(who, caller)))
  }

  #release(who: string, caller: Caller): void {
    caller.running -= 1
    for (let next = caller.waiting.shift(); next; next = caller.waiting.shift()) {
      this.#waiting -= 1
      if (next.isGone()) {
        next.drop()
        continue
      }
      next.start()
      if (caller.running >= readBounds.atOnce) return
    }
    if (caller.running === 0) this.#callers.delete(who)
  }
}
