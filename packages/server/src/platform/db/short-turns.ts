import { setImmediate as nextTurn } from 'node:timers/promises'

/** Less than a request is felt to wait. */
const longestMs = 0.5

/**
 * SQLite answers without ever yielding, so a row of statements would keep the event loop from all others for as long as it
 * lasts: a turn of the loop in which statements have run for that long ends before the next one.
 */
export class ShortTurns {
  #began: number | undefined

  /** To be awaited before a statement, where there is something to wait for. */
  next(): Promise<unknown> | undefined {
    if (this.#began === undefined) {
      this.#began = performance.now()
      setImmediate(() => {
        this.#began = undefined
      }).unref()
      return undefined
    }
    return performance.now() - this.#began > longestMs ? nextTurn() : undefined
  }
}
