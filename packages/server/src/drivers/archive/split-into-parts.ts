import { TarBoundaries, type TarEntryStart } from './tar-boundaries.ts'

/**
 * Splits content at positions that depend on the content, so that most parts of a changed volume stay equal: between files, and
 * in large files at fixed offsets of the file. Other content is split at fixed offsets. A part has about `partBytes`, and never
 * more than twice as much.
 */
export async function* splitIntoParts(
  content: AsyncIterable<Uint8Array>,
  { isTar, partBytes }: { isTar: boolean; partBytes: number },
): AsyncGenerator<Buffer> {
  const splitter = isTar ? new TarSplitter(partBytes) : undefined
  const max = splitter ? 2 * partBytes : partBytes
  const part = new PartBuffer(max)
  for await (const chunk of content) {
    for (let at = 0; at < chunk.length; ) {
      const freeBytes = max - part.bytes
      const { bytes, splitBefore, splitAfter } = splitter?.next(chunk.subarray(0, at + freeBytes), at, part.bytes) ?? {
        bytes: Math.min(freeBytes, chunk.length - at),
        splitBefore: 0,
        splitAfter: false,
      }
      part.add(chunk.subarray(at, at + bytes))
      at += bytes
      if (splitBefore > 0) yield part.takeExceptLast(splitBefore)
      if (splitAfter || part.bytes >= max) yield part.takeExceptLast(0)
    }
  }
  if (part.bytes > 0) yield part.takeExceptLast(0)
}

const tarHeaderBytes = 512

class TarSplitter {
  readonly #boundaries = new TarBoundaries()
  readonly #partBytes: number
  /** Bytes of a large file until its next split. */
  #untilSplit = Number.POSITIVE_INFINITY

  constructor(partBytes: number) {
    this.#partBytes = partBytes
  }

  /**
   * `bytes`: how many bytes to take now. The part ends before the last `splitBefore` of them, or after all of them with
   * `splitAfter`.
   */
  next(chunk: Uint8Array, at: number, partSoFar: number): { bytes: number; splitBefore: number; splitAfter: boolean } {
    const within = chunk.subarray(0, Math.min(chunk.length, at + this.#untilSplit))
    const { bytes, entry } = this.#boundaries.read(within, at)
    this.#untilSplit -= bytes
    if (!entry) {
      const splitAfter = this.#untilSplit === 0
      if (splitAfter) this.#untilSplit = this.#partBytes
      return { bytes, splitBefore: 0, splitAfter }
    }
    this.#untilSplit = entry.size >= this.#partBytes ? this.#partBytes : Number.POSITIVE_INFINITY
    const bytesBeforeEntry = partSoFar + bytes - tarHeaderBytes
    const startsPart = bytesBeforeEntry > 0 && this.#startsPart(entry, bytesBeforeEntry)
    return { bytes, splitBefore: startsPart ? tarHeaderBytes : 0, splitAfter: false }
  }

  /**
   * Whether the entry begins a new part. Between a quarter and the full part size, the hash of the entry's name decides, with a
   * probability that grows with the entry's size: soon after a file was added or removed, the splits are again those of the
   * earlier archive.
   */
  #startsPart({ size, nameHash, isContinued }: TarEntryStart, bytesBefore: number): boolean {
    if (isContinued) return false
    if (size >= this.#partBytes || bytesBefore >= this.#partBytes) return true
    return bytesBefore >= this.#partBytes / 4 && nameHash / 2 ** 32 < (2 * (size + tarHeaderBytes)) / this.#partBytes
  }
}

/**
 * The part that is being filled. Chunks are copied as they arrive: retained chunks move to the old generation, which is
 * collected late.
 */
class PartBuffer {
  readonly #buffer: Buffer
  bytes = 0

  constructor(capacity: number) {
    this.#buffer = Buffer.allocUnsafeSlow(capacity)
  }

  add(chunk: Uint8Array): void {
    this.#buffer.set(chunk, this.bytes)
    this.bytes += chunk.length
  }

  /** Returns the part in a buffer of its own, which can be transferred. The last `kept` bytes begin the next part. */
  takeExceptLast(kept: number): Buffer {
    const part = Buffer.allocUnsafeSlow(this.bytes - kept)
    this.#buffer.copy(part, 0, 0, part.length)
    this.#buffer.copyWithin(0, part.length, this.bytes)
    this.bytes = kept
    return part
  }
}
