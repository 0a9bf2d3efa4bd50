import { setTimeout as pause } from 'node:timers/promises'
import type { Millis } from '../../../platform/db/columns.ts'

/**
 * Interval between starts. A run takes about 20 ms of the event loop that serves requests: two or three of a hundred requests
 * coincide with one.
 */
const spacingMs = 800
/** A run that has waited this long starts at once: more runs are due than can start at this interval. */
const maxWaitMs = 15 * 60_000

/** Spaces the starts of scheduled runs, so that requests are hardly delayed when a thousand are due in the same minute. */
export class StartSpacer {
  #next = 0

  async waitForSlot(waitedMs: Millis, abort: AbortSignal): Promise<void> {
    if (waitedMs > maxWaitMs) return
    const now = performance.now()
    const startAt = Math.max(now, this.#next)
    this.#next = startAt + spacingMs
    if (startAt > now) await pause(startAt - now, undefined, { signal: abort })
  }
}
