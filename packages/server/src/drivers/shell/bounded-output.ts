/** Keeps the first or the last `maxBytes` of a stream in at most twice that memory, however small its chunks are. */
export class BoundedOutput {
  truncated = false
  readonly #maxBytes: number
  readonly #keep: 'first' | 'last'
  #bytes = Buffer.alloc(0)
  #length = 0

  constructor(keep: 'first' | 'last', maxBytes: number) {
    this.#keep = keep
    this.#maxBytes = maxBytes
  }

  add(chunk: Uint8Array): void {
    if (this.#keep === 'first') this.#append(this.#truncate(chunk, this.#maxBytes - this.#length))
    else this.#addToEnd(chunk)
  }

  text(): string {
    const start = this.#keep === 'last' ? Math.max(0, this.#length - this.#maxBytes) : 0
    return this.#bytes.toString('utf8', start, this.#length)
  }

  #addToEnd(chunk: Uint8Array): void {
    if (this.#length + chunk.length > this.#maxBytes) this.truncated = true
    const tail = chunk.subarray(Math.max(0, chunk.length - this.#maxBytes))
    if (this.#length + tail.length > this.#maxBytes * 2) {
      const keptLength = this.#maxBytes - tail.length
      this.#bytes.copyWithin(0, this.#length - keptLength, this.#length)
      this.#length = keptLength
    }
    this.#append(tail)
  }

  #truncate(chunk: Uint8Array, freeBytes: number): Uint8Array {
    if (chunk.length <= freeBytes) return chunk
    this.truncated = true
    return chunk.subarray(0, freeBytes)
  }

  #append(chunk: Uint8Array): void {
    const needed = this.#length + chunk.length
    if (needed > this.#bytes.length) {
      const grown = Buffer.alloc(Math.max(needed, Math.min(this.#bytes.length * 2, this.#maxBytes * 2)))
      this.#bytes.copy(grown, 0, 0, this.#length)
      this.#bytes = grown
    }
    this.#bytes.set(chunk, this.#length)
    this.#length = needed
  }
}
