import type { Progress } from '@berth/contract'
import type { RowSignal } from '../../../http/row-stream.ts'
import type { BackupsDeps } from '../deps.ts'

const publishIntervalMs = 250
const storeIntervalMs = 2_000

/** Publishes progress at most four times a second, and stores it in the row every few seconds. */
export class RowProgress {
  readonly #deps: Pick<BackupsDeps, 'database' | 'log'>
  readonly #topic: string
  readonly #store: (bytesDone: number) => Promise<unknown>
  #bytesDone = 0
  #bytesTotal: number | null
  #began = performance.now()
  #reportedAt = 0
  #storedAt = performance.now()
  #storing: Promise<unknown> = Promise.resolve()

  constructor(
    topic: string,
    bytesTotal: number | null,
    store: (bytesDone: number) => Promise<unknown>,
    deps: Pick<BackupsDeps, 'database' | 'log'>,
  ) {
    this.#topic = topic
    this.#bytesTotal = bytesTotal
    this.#store = store
    this.#deps = deps
  }

  get bytesDone(): number {
    return this.#bytesDone
  }

  update(bytesDone: number): void {
    this.#bytesDone = bytesDone
    if (this.#bytesTotal !== null && bytesDone > this.#bytesTotal) this.#bytesTotal = bytesDone
    const now = performance.now()
    if (now - this.#reportedAt >= publishIntervalMs) {
      this.#reportedAt = now
      this.#notify(now)
    }
    if (now - this.#storedAt >= storeIntervalMs) {
      this.#storedAt = now
      this.#storing = this.#storing.then(() => this.#store(bytesDone)).catch(() => undefined)
    }
  }

  /** Resolves when no write of the progress is pending. */
  waitUntilStored(): Promise<unknown> {
    return this.#storing
  }

  #notify(now: number): void {
    const seconds = Math.max(0.001, (now - this.#began) / 1000)
    const bytesPerSecond = Math.round(this.#bytesDone / seconds)
    const progress: Progress = { bytesDone: this.#bytesDone, bytesTotal: this.#bytesTotal, bytesPerSecond }
    this.#deps.database.signals.publish(this.#topic, { progress } satisfies RowSignal)
  }
}
