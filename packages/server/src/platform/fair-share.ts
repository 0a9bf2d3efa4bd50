import { performance } from 'node:perf_hooks'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'

/** Of work, before others get their share: less than a request is felt to wait. */
const pieceMs = 4
const longestRestMs = 500

/**
 * For long rows of small pieces of work, as on SQLite, which answers without ever yielding: between the pieces requests have
 * their turn, and where the work keeps the event loop busy they get as much of it as was taken.
 */
export class FairShare {
  #since = performance.eventLoopUtilization()

  async next(): Promise<void> {
    await turn()
    const { active, idle } = performance.eventLoopUtilization(this.#since)
    if (active < pieceMs) return
    const restMs = Math.min(longestRestMs, active) - idle
    if (restMs > 0) await pause(restMs)
    this.#since = performance.eventLoopUtilization()
  }
}
