import type { Awaitable } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'

/** Limits of concurrent and queued reads per caller, and of all queued reads. */
export const readLimits = { concurrent: 4, concurrentWithSlow: 32, queued: 128, queuedTotal: 1024 }
/** A read that takes longer waits for another system, such as a git host: it no longer delays other reads of its caller. */
const slowMs = 500

/** Returned when the client disconnected before the response was computed. */
export const clientDisconnected = Symbol('the client disconnected')

interface WaitingRead {
  isDisconnected(): boolean
  start(): void
  drop(): void
}

interface Caller {
  running: Set<{ startedAt: number }>
  waiting: WaitingRead[]
}

function hasFreeSlot({ running }: Caller): boolean {
  if (running.size < readLimits.concurrent) return true
  const now = performance.now()
  const fastCount = [...running].filter(({ startedAt }) => now - startedAt < slowMs).length
  return running.size < readLimits.concurrentWithSlow && fastCount < readLimits.concurrent
}

/**
 * Limits concurrent reads per caller. Further reads are queued, and rejected once the queue is full. A queued read whose client
 * disconnects is dropped.
 */
export class ReadSlots {
  readonly #callers = new Map<string, Caller>()
  #waiting = 0
  #isScheduled = false
  #isRetryScheduled = false

  run<T>(callerId: string, isDisconnected: () => boolean, read: () => Awaitable<T>): Awaitable<T | typeof clientDisconnected> {
    if (isDisconnected()) return clientDisconnected
    const caller = this.#callers.get(callerId) ?? { running: new Set(), waiting: [] }
    if (hasFreeSlot(caller)) return this.#start(callerId, caller, read)
    if (caller.waiting.length >= readLimits.queued || this.#waiting >= readLimits.queuedTotal)
      return fail('unavailable', { retryAfterSeconds: 1, message: 'Too many requests are waiting. Try again in 1 s.' })
    this.#waiting += 1
    this.#callers.set(callerId, caller)
    return new Promise((resolve) => {
      const start = () => resolve(new Promise((settle) => settle(this.#start(callerId, caller, read) as T)))
      caller.waiting.push({ isDisconnected, start, drop: () => resolve(clientDisconnected) })
      this.#scheduleNext(caller)
    })
  }

  /** Starts a read. A read from memory completes synchronously and needs no slot. */
  #start<T>(callerId: string, caller: Caller, read: () => Awaitable<T>): Awaitable<T> {
    const answer = read()
    if (!(answer instanceof Promise)) return answer
    const running = { startedAt: performance.now() }
    caller.running.add(running)
    this.#callers.set(callerId, caller)
    return answer.finally(() => {
      caller.running.delete(running)
      if (caller.waiting.length > 0) this.#schedule()
      else if (caller.running.size === 0) this.#callers.delete(callerId)
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
    if (hasFreeSlot(caller)) this.#schedule()
    else if (!this.#isRetryScheduled) {
      this.#isRetryScheduled = true
      setTimeout(() => {
        this.#isRetryScheduled = false
        this.#schedule()
      }, slowMs).unref()
    }
  }

  /** Starts one queued read of each caller with a free slot. */
  #startWaiting(): void {
    for (const [callerId, caller] of this.#callers) {
      if (hasFreeSlot(caller)) this.#startNext(caller)
      if (caller.waiting.length === 0 && caller.running.size === 0) this.#callers.delete(callerId)
      else if (caller.waiting.length > 0) this.#scheduleNext(caller)
    }
  }

  #startNext({ waiting }: Caller): void {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      this.#waiting -= 1
      if (!next.isDisconnected()) {
        next.start()
        return
      }
      next.drop()
    }
  }
}
