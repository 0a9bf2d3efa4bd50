/**
 * Returns the source's chunks; throws the signal's reason at once on abort, also while the source is idle. Does not use
 * `Promise.race` with one promise for the whole run: that promise would retain every chunk until the end.
 */
export async function* untilAborted<Chunk>(source: AsyncIterable<Chunk>, abort?: AbortSignal): AsyncGenerator<Chunk> {
  abort?.throwIfAborted()
  let stopWaiting: (reason: unknown) => void = () => undefined
  const stop = () => stopWaiting(abort?.reason)
  abort?.addEventListener('abort', stop, { once: true })
  const chunks = source[Symbol.asyncIterator]()
  try {
    while (true) {
      const next = await new Promise<IteratorResult<Chunk>>((resolve, reject) => {
        stopWaiting = reject
        chunks.next().then(resolve, reject)
      })
      if (next.done) return
      yield next.value
      abort?.throwIfAborted()
    }
  } finally {
    abort?.removeEventListener('abort', stop)
    // Not awaited: a generator that is blocked in its own work never returns.
    void chunks.return?.()?.catch(() => undefined)
  }
}
