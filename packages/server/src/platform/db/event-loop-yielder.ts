/** Short enough that a waiting request is not noticeably delayed. */
const minMs = 0.1

/**
 * SQLite calls are synchronous, so a series of statements would block the event loop. Once statements have run for `#maxMs`
 * within one iteration of the loop, the next statement waits for a later iteration. If other work makes iterations long, statements
 * may take half as long as an iteration, so that they still make progress.
 */
export class EventLoopYielder {
  #startedAt: number | undefined
  #maxMs = minMs
  /** Callers that wait, the longest-waiting first. */
  readonly #waiting: (() => void)[] = []

  /** Await this before a statement. Undefined: the statement may run now. */
  next(): Promise<void> | undefined {
    return this.#hasTimeLeft() ? undefined : this.#wait()
  }

  /** True if this iteration of the event loop has time left; the first call starts the measurement. */
  #hasTimeLeft(): boolean {
    if (this.#startedAt !== undefined) return performance.now() - this.#startedAt <= this.#maxMs
    this.#startedAt = performance.now()
    setImmediate(() => {
      this.#startedAt = undefined
    }).unref()
    return true
  }

  #wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    this.#resumeNext()
    return promise
  }

  /**
   * Resumes the caller that has waited longest, in the next iteration that has time left. Without the queue, a series of statements
   * would call again before the other callers and run first in every iteration.
   */
  #resumeNext(): void {
    const since = performance.now()
    setImmediate(() => {
      this.#maxMs = Math.max(minMs, (performance.now() - since) / 2)
      if (this.#hasTimeLeft()) this.#waiting.shift()?.()
      else this.#resumeNext()
    })
  }
}
