import type { Awaitable } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'

/** Reads of one caller: how many are computed at once, slow ones included, and how many wait. All that wait have a bound as well. */
export const readBounds = { atOnce: 4, withSlow: 32, waiting: 128, waitingOfAll: 1024 }
/** A read that takes longer waits for a peer, such as a git host: it keeps no other read of its caller waiting. */
const slowMs = 500

/** Returned instead of an answer where the client has gone away before it was computed. */
export const clientGone = Symbol('the client has gone away')

interface WaitingRead {
  isGone(): boolean
  start(): void
  drop(): void
}

interface Caller {
  running: Set<{ since: number }>
  waiting: WaitingRead[]
}

function hasRoom({ running }: Caller): boolean {
  if (running.size < readBounds.atOnce) return true
  const now = performance.now()
  const quick = [...running].filter(({ since }) => now - since < slowMs).length
  return running.size < readBounds.withSlow && quick < readBounds.atOnce
}

/**
 * Bounds the reads that are computed at once for one caller. Others wait, a bounded number of them; more are refused at once. A read whose client goes away
 * while it waits is not computed.
 */
export class ReadSlots {
  readonly #callers = new Map<string, Caller>()
  #waiting = 0
  #isScheduled = false
  #isTimed = false

  run<T>(who: string, isGone: () => boolean, read: () => Awaitable<T>): Awaitable<T | typeof clientGone> {
    if (isGone()) return clientGone
    const caller = this.#callers.get(who) ?? { running: new Set(), waiting: [] }
    if (hasRoom(caller)) return this.#start(who, caller, read)
    if (caller.waiting.length >= readBounds.waiting || this.#waiting >= readBounds.waitingOfAll)
      return fail('unavailable', { retryAfterSeconds: 1, words: 'Too many requests are waiting. Try again in 1 s.' })
    this.#waiting += 1
    this.#callers.set(who, caller)
    return new Promise((resolve) => {
      const start = () => resolve(new Promise((answered) => answered(this.#start(who, caller, read) as T)))
      caller.waiting.push({ isGone, start, drop: () => resolve(clientGone) })
      this.#scheduleNext(caller)
    })
  }

  /** A read whose rows are in memory answers at once and needs no slot. */
  #start<T>(who: string, caller: Caller, read: () => Awaitable<T>): Awaitable<T> {
    const answer = read()
    if (!(answer instanceof Promise)) return answer
    const running = { since: performance.now() }
    caller.running.add(running)
    this.#callers.set(who, caller)
    return answer.finally(() => {
      caller.running.delete(running)
      if (caller.waiting.length > 0) this.#schedule()
      else if (caller.running.size === 0) this.#callers.delete(who)
    })
  }

  /** Starts waiting reads in the next turn of the event loop, so that other callers' requests come in between. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#startWaiting()
    })
  }

  /** Without a free slot once more later: reads that are running may be slow by then. */
  #scheduleNext(caller: Caller): void {
    if (hasRoom(caller)) this.#schedule()
    else if (!this.#isTimed) {
      this.#isTimed = true
      setTimeout(() => {
        this.#isTimed = false
        this.#schedule()
      }, slowMs).unref()
    }
  }

  /** Starts one read of each caller that has a free slot. */
  #startWaiting(): void {
    for (const [who, caller] of this.#callers) {
      if (hasRoom(caller)) this.#startNext(caller)
      if (caller.waiting.length === 0 && caller.running.size === 0) this.#callers.delete(who)
      else if (caller.waiting.length > 0) this.#scheduleNext(caller)
    }
  }

  #startNext({ waiting }: Caller): void {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      this.#waiting -= 1
      if (!next.isGone()) {
        next.start()
        return
      }
      next.drop()
    }
  }
}
