const maxLines = 256

/**
 * Collects lines that arrive together and passes them on in one call, at the latest when the event loop is idle. When the batch is
 * full, `add` returns a promise that the caller awaits, so that a fast source does not fill the memory.
 */
export class LineBatch<Line> {
  readonly #send: (lines: readonly Line[]) => Promise<void>
  #lines: Line[] = []
  /** The calls so far, one after another; rejects once a call has failed. */
  #done: Promise<void> = Promise.resolve()
  #scheduled: NodeJS.Immediate | null = null

  constructor(send: (lines: readonly Line[]) => Promise<void>) {
    this.#send = send
  }

  add(line: Line): Promise<void> | undefined {
    this.#lines.push(line)
    if (this.#lines.length >= maxLines) return this.flush()
    this.#scheduled ??= setImmediate(() => this.flush().catch(() => undefined))
    return undefined
  }

  /** Resolves when every line so far was passed on; rejects if a call has failed. */
  flush(): Promise<void> {
    if (this.#scheduled) clearImmediate(this.#scheduled)
    this.#scheduled = null
    const lines = this.#lines
    if (lines.length === 0) return this.#done
    this.#lines = []
    this.#done = this.#done.then(() => this.#send(lines))
    return this.#done
  }
}
