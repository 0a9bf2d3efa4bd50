const inMemory = Symbol('in memory')

/** Content that can be sent again after a fault, as it is all here. */
export function inMemoryContent(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  return {
    [inMemory]: true,
    async *[Symbol.asyncIterator]() {
      yield bytes
    },
  } as AsyncIterable<Uint8Array>
}

export const isInMemory = (content: AsyncIterable<Uint8Array>): boolean => inMemory in content
