/** Lines as the bytes to be written; thousands of strings would survive young-generation collections and grow the heap. */
export interface Chunk {
  buffer: Buffer
  bytes: number
  firstId: number
  lastId: number
}

const chunkBytes = 16 * 1024
const maxSpare = 64

/** Memory that all streams together hold in pending lines: appending waits at the first limit and drops lines at the second. */
export class PendingMemory {
  #usedBytes = 0
  readonly #max: number
  readonly #spare: Buffer[] = []

  constructor(maxBytes: number) {
    this.#max = maxBytes
  }

  get isFull(): boolean {
    return this.#usedBytes >= this.#max
  }

  get isExhausted(): boolean {
    return this.#usedBytes >= 2 * this.#max
  }

  count(bytes: number): void {
    this.#usedBytes += bytes
  }

  take(bytes: number): Buffer {
    return (bytes <= chunkBytes && this.#spare.pop()) || Buffer.allocUnsafeSlow(Math.max(bytes, chunkBytes))
  }

  recycle(buffer: Buffer): void {
    if (buffer.length === chunkBytes && this.#spare.length < maxSpare) this.#spare.push(buffer)
  }
}

/** The pending lines of one stream, oldest first. */
export class PendingLines {
  readonly #memory: PendingMemory
  #chunks: Chunk[] = []
  #bytes = 0

  constructor(memory: PendingMemory) {
    this.#memory = memory
  }

  /** Pending bytes, including those taken for a write, until they are released. */
  get bytes(): number {
    return this.#bytes
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  add(line: string, id: number): void {
    const bytes = Buffer.byteLength(line)
    const last = this.#chunks.at(-1)
    const chunk = last && last.bytes + bytes <= last.buffer.length ? last : this.#addChunk(bytes, id)
    chunk.buffer.write(line, chunk.bytes)
    chunk.bytes += bytes
    chunk.lastId = id
    this.#count(bytes)
  }

  /** The oldest chunks up to a number of bytes, at least one. */
  take(maxBytes: number): Chunk[] {
    let count = 0
    for (let freeBytes = maxBytes; freeBytes > 0 && count < this.#chunks.length; count++) freeBytes -= this.#chunks[count]!.bytes
    return this.#chunks.splice(0, Math.max(count, 1))
  }

  putBack(chunks: readonly Chunk[]): void {
    this.#chunks = chunks.concat(this.#chunks)
  }

  release(chunks: readonly Chunk[]): void {
    for (const { buffer, bytes } of chunks) {
      this.#count(-bytes)
      this.#memory.recycle(buffer)
    }
  }

  #addChunk(bytes: number, id: number): Chunk {
    const chunk = { buffer: this.#memory.take(bytes), bytes: 0, firstId: id, lastId: id }
    this.#chunks.push(chunk)
    return chunk
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    this.#memory.count(bytes)
  }
}
