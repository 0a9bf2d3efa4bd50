import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../log.ts'

/**
 * Repeats a light task while the process runs. Unlike a job it stores no rows, and runs that were missed while the process was down
 * are skipped.
 */
export class Every {
  readonly #seconds: number
  readonly #work: (abort: AbortSignal) => Promise<void>
  readonly #log: Log
  readonly #stop = new AbortController()
  #loop: Promise<void> | undefined

  constructor(seconds: number, work: (abort: AbortSignal) => Promise<void>, log: Log) {
    this.#seconds = seconds
    this.#work = work
    this.#log = log
  }

  start(): void {
    this.#loop ??= this.#repeat()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#loop
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await pause(this.#seconds * 1000, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      await this.#work(signal).catch((error: unknown) => {
        if (!signal.aborted) this.#log.warn({ err: error }, 'jobs: periodic task failed')
      })
    }
  }
}
