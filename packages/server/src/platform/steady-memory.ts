import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** V8 lets 64 MB of dead buffers accumulate before it collects them; a single upload would take that much. */
const collectEveryBytes = 8 * 1024 * 1024
/** Bytes of all streams together: many short streams leave as much garbage as a long one. */
let passed = 0

/** Passes the chunks through and collects dead ones, so that a long stream takes no more memory than a short one. */
export async function* inSteadyMemory<Chunk extends Uint8Array>(chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
  const check = collectingYoung()
  for await (const chunk of chunks) {
    check(chunk)
    yield chunk
  }
}

/** The same as a callback, to be called with each chunk. */
export function collectingYoung(): (chunk: Uint8Array) => void {
  return ({ length }) => {
    passed += length
    if (passed < collectEveryBytes) return
    passed = 0
    collectYoung()
  }
}

interface Collect {
  (options: { type: 'minor' }): void
  (options: { type: 'major' }): void
}
let known: Collect | undefined

function collector(): Collect {
  if (!known) {
    setFlagsFromString('--expose-gc')
    known = runInNewContext('gc') as Collect
  }
  return known
}

/** Collects only the young generation, which takes about a millisecond. */
export const collectYoung = (): void => collector()({ type: 'minor' })

/**
 * Collects everything except compiled code, which the next requests need. It takes tens of milliseconds, so call it only when idle.
 */
export const collectAll = (): void => collector()({ type: 'major' })
