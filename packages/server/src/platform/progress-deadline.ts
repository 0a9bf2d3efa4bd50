/** Aborts work that reports no progress for `silentMs`. */
export class ProgressDeadline {
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly signal: AbortSignal

  constructor(silentMs: number, abort: AbortSignal) {
    this.signal = AbortSignal.any([abort, this.#controller.signal])
    this.#timer = setTimeout(() => this.#controller.abort(new Error(`no progress for ${silentMs} ms`)), silentMs)
  }

  get isOver(): boolean {
    return this.#controller.signal.aborted
  }

  progress(): void {
    if (!this.isOver) this.#timer.refresh()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }
}
