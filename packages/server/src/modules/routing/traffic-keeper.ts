import type { TrafficMinute } from '../../edge-proxy/protocol/traffic.ts'
import { saveTraffic } from '../projects/index.ts'
import { type EdgeDeps, nowOf } from './deps.ts'
import { TrafficTotals } from './traffic-totals.ts'

/**
 * Stores the traffic counts of the edge. One write at a time; newer counts of the same minute replace older ones. A failed write
 * is retried with the next.
 */
export class TrafficKeeper {
  readonly #deps: EdgeDeps
  /** Totals of this process, for metrics. */
  readonly totals: TrafficTotals
  #waiting = new Map<string, TrafficMinute>()
  #writing: Promise<void> | undefined
  #end: () => void = () => {}

  constructor(deps: EdgeDeps) {
    this.#deps = deps
    this.totals = new TrafficTotals(nowOf(deps))
  }

  start(): void {
    this.#end = this.#deps.driver.onTraffic((minutes) => {
      for (const minute of minutes) {
        this.#enqueue(minute)
        this.totals.add(minute)
      }
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined
      })
    })
  }

  /** Call after the edge has sent its last counts. */
  async stop(): Promise<void> {
    this.#end()
    await this.#writing
  }

  #enqueue(minute: TrafficMinute): void {
    const key = `${minute.counter} ${minute.at}`
    this.#waiting.delete(key)
    this.#waiting.set(key, minute)
    if (this.#waiting.size > maxWaiting) this.#waiting.delete(this.#waiting.keys().next().value as string)
  }

  async #write(): Promise<void> {
    while (this.#waiting.size > 0) {
      const batch = this.#waiting
      this.#waiting = new Map()
      try {
        await saveTraffic([...batch.values()], this.#deps.database)
      } catch (error) {
        this.#deps.log.warn({ err: error }, 'routing: traffic counters not saved yet, will retry')
        const newer = this.#waiting
        this.#waiting = batch
        for (const minute of newer.values()) this.#enqueue(minute)
        return
      }
    }
  }
}

/** Limit while the database is unreachable; the oldest counts are dropped first. */
const maxWaiting = 10_000
