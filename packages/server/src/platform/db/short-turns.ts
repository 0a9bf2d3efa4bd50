import { setImmediate as nextTurn } from 'node:timers/promises'

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

  /** To be awaited before a statement, where there is something to wait for. */
  next(): Promise<unknown> | undefined {
    if (this.#began === undefined) {
      this.#began = performance.now()
      setImmediate(() => {
        this.#began = undefined
      }).unref()
      return undefined
    }
    return performance.now() - this.#began > this.#longestMs ? this.#wait() : undefined
  }

  /** Those that wait come back in the same turn: each asks again, so that they do not all go on in it. */
  async #wait(): Promise<void> {
    const since = performance.now()
    await nextTurn()
    this.#longestMs = Math.max(shortestMs, (performance.now() - since) / 2)
    await this.next()
  }
}
