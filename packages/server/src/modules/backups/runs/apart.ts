import { setTimeout as pause } from 'node:timers/promises'
import type { Millis } from '../../../platform/db/columns.ts'

/** A run takes about 20 ms of the one event loop that answers requests: this way two or three of a hundred requests meet one. */
const apartMs = 800
/** What has waited this long waits no longer: there are more than can begin so far apart. */
const longestWaitMs = 15 * 60_000

/** Runs that nobody waits for begin one after the other, so that requests hardly notice a thousand that are due in the same minute. */
export class Apart {
  #next = 0

  async begin(waitedMs: Millis, abort: AbortSignal): Promise<void> {
    if (waitedMs > longestWaitMs) return
    const now = performance.now()
    const at = Math.max(now, this.#next)
    this.#next = at + apartMs
    if (at > now) await pause(at - now, undefined, { signal: abort })
  }
}
