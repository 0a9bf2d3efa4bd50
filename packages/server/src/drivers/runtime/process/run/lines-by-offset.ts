const newline = 10
const maxLineBytes = 16 * 1024
const noBytes = Buffer.alloc(0)

/** Splits chunks into lines and tracks the byte offset after each, so that a reader can continue after any line. */
export class LinesByOffset {
  /** Bytes that are not handed out yet, from `#start` on. */
  #pending: Buffer = noBytes
  #start = 0
  /** End offset of the last line that was handed out. */
  endOffset: number

  constructor(from: number) {
    this.endOffset = from
  }

  *addChunk(chunk: Buffer): Generator<string> {
    this.#pending = this.#pendingBytes === 0 ? chunk : Buffer.concat([this.#pending.subarray(this.#start), chunk])
    this.#start = 0
    for (;;) {
      const at = this.#pending.indexOf(newline, this.#start)
      // A line that is too long is cut.
      if (at < 0 && this.#pendingBytes <= maxLineBytes) break
      yield this.#takeLine(at < 0 ? maxLineBytes : at - this.#start, at < 0 ? 0 : 1)
    }
    if (this.#pendingBytes === 0) this.#pending = noBytes
  }

  skipTo(offset: number): void {
    this.#pending = noBytes
    this.#start = 0
    this.endOffset = offset
  }

  *flush(): Generator<string> {
    if (this.#pendingBytes > 0) yield this.#takeLine(this.#pendingBytes, 0)
  }

  get #pendingBytes(): number {
    return this.#pending.length - this.#start
  }

  #takeLine(length: number, separator: number): string {
    const message = this.#pending.toString('utf8', this.#start, this.#start + length)
    this.#start += length + separator
    this.endOffset += length + separator
    return message.endsWith('\r') ? message.slice(0, -1) : message
  }
}
