const maxLines = 256

/**
 * Collects lines that arrive together and hands them on in one call, at the latest when the event loop is idle. `add` waits once
 * there are many, so that a fast source does not fill the memory.
 */
export class LineBatch<Line> {
  readonly #handOn: (lines: readonly Line[]) => Promise<void>
  #lines: Line[] = []
  /** The calls so far, one after another; rejects once a call has failed. */
  #done: Promise<void> = Promise.resolve()
  #scheduled: NodeJS.Immediate | null = null

  constructor(handOn: (lines: readonly Line[]) => Promise<void>) {
    this.#handOn = handOn
  }

  add(line: Line): Promise<void> | undefined {
    this.#lines.push(line)
    if (this.#lines.length >= maxLines) return this.flush()
    this.#scheduled ??= setImmediate(() => this.flush().catch(() => undefined))
    return undefined
  }

  /** Resolves when every line so far was handed on; rejects if one could not be. */
  flush(): Promise<void> {
    if (this.#scheduled) clearImmediate(this.#scheduled)
    this.#scheduled = null
    const lines = this.#lines
    if (lines.length === 0) return this.#done
    this.#lines = []
    this.#done = this.#done.then(() => this.#handOn(lines))
    return this.#done
  }
}
