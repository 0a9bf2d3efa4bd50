import { type FSWatcher, watch } from 'node:fs'

const pollMs = 100
/** Interval between two reads of a program that writes often. */
const busyPollMs = 200
/** Polling interval beside the file system's change events, in case an event is lost. */
const fallbackPollMs = 15_000
/** Change events per pause above which polling is cheaper: each event wakes the control plane. */
const maxEventsPerPause = 3

/**
 * Lets a reader of an instance's output wait. A change in the folder wakes it. While a program writes, the lines of one interval are
 * read together, and change events are off if there are many. Where the system does not report changes, it polls.
 */
export class OutputWaiter implements Disposable {
  readonly #folder: string
  readonly #signals: readonly AbortSignal[]
  #watcher: FSWatcher | null = null
  #canWatch = true
  /** Changes since the last read, so that none is missed between reading and waiting. */
  #changes = 0
  #wakesOnChange = false
  #wake: (() => void) | null = null
  readonly #onAbort = () => this.#wake?.()

  constructor(folder: string, ...signals: (AbortSignal | undefined)[]) {
    this.#folder = folder
    this.#signals = signals.filter((signal) => signal !== undefined)
    for (const signal of this.#signals) signal.addEventListener('abort', this.#onAbort)
    this.#open()
  }

  /** Waits for the interval between two reads of a program that writes, or until a signal is aborted. */
  async pause(): Promise<void> {
    await this.#sleep(this.#watcher ? pollMs : busyPollMs)
    if (this.#changes > maxEventsPerPause) this.#close()
    this.#changes = 0
  }

  /** Waits for a change, or until a signal is aborted. */
  async nextChange(): Promise<void> {
    if (!this.#watcher && this.#canWatch) {
      this.#open()
      // Output that was written before the folder was watched is read first.
      if (this.#watcher) return
    }
    if (this.#changes === 0) {
      this.#wakesOnChange = true
      await this.#sleep(this.#watcher ? fallbackPollMs : pollMs)
      this.#wakesOnChange = false
    }
    this.#changes = 0
  }

  [Symbol.dispose](): void {
    this.#close()
    for (const signal of this.#signals) signal.removeEventListener('abort', this.#onAbort)
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.(), ms)
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = null
        resolve()
      }
    })
  }

  #open(): void {
    const onChange = () => {
      this.#changes++
      if (this.#wakesOnChange) this.#wake?.()
    }
    try {
      this.#watcher = watch(this.#folder, { persistent: false }, onChange).on('error', onChange)
    } catch {
      // The folder does not exist yet, or the system has no more watches.
      this.#canWatch = false
    }
  }

  #close(): void {
    this.#watcher?.close()
    this.#watcher = null
  }
}
