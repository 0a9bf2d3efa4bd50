import { performance } from 'node:perf_hooks'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'

/** Work allowed before a pause: short enough that a waiting request is not noticeably delayed. */
const burstMs = 4
const maxRestMs = 500

/**
 * Throttles a long series of small pieces of work, such as synchronous SQLite calls. Requests are served between the pieces, and if
 * the work keeps the event loop busy, it pauses for as long as it has worked.
 */
export class Throttle {
  #measuredFrom = performance.eventLoopUtilization()

  async next(): Promise<void> {
    await turn()
    const { active, idle } = performance.eventLoopUtilization(this.#measuredFrom)
    if (active < burstMs) return
    const restMs = Math.min(maxRestMs, active) - idle
    if (restMs > 0) await pause(restMs)
    this.#measuredFrom = performance.eventLoopUtilization()
  }
}
