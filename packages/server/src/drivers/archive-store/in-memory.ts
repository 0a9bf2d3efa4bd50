const inMemory = Symbol('in memory')
/** Small enough that a place that takes them one by one is seen to go on. */
const pieceBytes = 256 * 1024

export interface InMemory {
  bytes: Uint8Array
  /** Where it is known already. */
  sha256?: string
}

/** Content that can be sent again after a fault, as it is all here. */
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
