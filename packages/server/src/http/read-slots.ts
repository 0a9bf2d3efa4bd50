import type { Awaitable } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'

/** Limits of concurrent and waiting reads per caller, and of all waiting reads. */
export const readBounds = { atOnce: 4, withSlow: 32, waiting: 128, waitingOfAll: 1024 }
/** A read that takes longer waits for another system, such as a git host: it no longer delays other reads of its caller. */
const slowMs = 500

/** Returned when the client disconnected before the response was computed. */
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
 * Limits concurrent reads per caller. Others are queued up to a limit; beyond it they are rejected. A queued read whose client
 * disconnects is dropped.
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
      return fail('unavailable', { retryAfterSeconds: 1, message: 'Too many requests are waiting. Try again in 1 s.' })
    this.#waiting += 1
    this.#callers.set(who, caller)
    return new Promise((resolve) => {
      const start = () => resolve(new Promise((answered) => answered(this.#start(who, caller, read) as T)))
      caller.waiting.push({ isGone, start, drop: () => resolve(clientGone) })
      this.#scheduleNext(caller)
    })
  }

  /** Starts a read. A read from memory completes synchronously and needs no slot. */
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

  /** Starts queued reads in the next event loop turn, so that other callers' requests are accepted in between. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#startWaiting()
    })
  }

  /** Schedules the next start. Without a free slot it tries again later, when running reads may count as slow. */
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

  /** Starts one queued read of each caller with a free slot. */
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
