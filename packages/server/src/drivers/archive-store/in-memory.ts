const inMemory = Symbol('in memory')
/** Size of a chunk: small enough that the progress of a slow destination is visible. */
const pieceBytes = 256 * 1024

export interface InMemory {
  bytes: Uint8Array
  /** Hash of the bytes, if known. */
  sha256?: string
}

/** Content that can be sent again after an error, since all of it is in memory. */
export function inMemoryContent(bytes: Uint8Array, sha256?: string): AsyncIterable<Uint8Array> {
  return {
    [inMemory]: { bytes, ...(sha256 ? { sha256 } : {}) } satisfies InMemory,
    async *[Symbol.asyncIterator]() {
      for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
    },
  } as AsyncIterable<Uint8Array>
}

export const inMemoryBytes = (content: AsyncIterable<Uint8Array>): InMemory | undefined =>
  (content as { [inMemory]?: InMemory })[inMemory]
