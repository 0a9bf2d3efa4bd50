/** Less than a request is felt to wait. */
const shortestMs = 0.1

/**
 * SQLite answers without ever yielding, so a row of statements would keep the event loop from all others for as long as it
 * lasts: a turn of the loop in which statements have run for long enough ends before the next one. Where the others' own
 * work makes turns long, statements may take half as long as that, or they would hardly get on beside it.
 */
export class ShortTurns {
  #began: number | undefined
  #longestMs = shortestMs
  /** Who waits, the longest first. */
  readonly #waiting: (() => void)[] = []

  /** To be awaited before a statement, where there is something to wait for. */
  next(): Promise<void> | undefined {
    return this.#hasRoom() ? undefined : this.#wait()
  }

  /** In this turn; with the first to ask, it begins. */
  #hasRoom(): boolean {
    if (this.#began !== undefined) return performance.now() - this.#began <= this.#longestMs
    this.#began = performance.now()
    setImmediate(() => {
      this.#began = undefined
    }).unref()
    return true
  }

  #wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    this.#letOneGo()
    return promise
  }

  /**
   * In the next turn, or a later one where that has no room left. Not whoever called, but who has waited longest: a row of
   * statements asks again before the others are asked, and would go first in every turn.
   */
  #letOneGo(): void {
    const since = performance.now()
    setImmediate(() => {
      this.#longestMs = Math.max(shortestMs, (performance.now() - since) / 2)
      if (this.#hasRoom()) this.#waiting.shift()?.()
      else this.#letOneGo()
    })
  }
}
