import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** V8 lets 64 MB of dead buffers accumulate before it collects them; a single upload would take that much. */
const collectEveryBytes = 8 * 1024 * 1024
/** Bytes of all streams together: many short streams leave as much garbage as a long one. */
let passedBytes = 0

/** Passes the chunks through and collects dead ones, so that a long stream takes no more memory than a short one. */
export async function* inSteadyMemory<Chunk extends Uint8Array>(chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
  const check = createYoungCollector()
  for await (const chunk of chunks) {
    check(chunk)
    yield chunk
  }
}

/** `inSteadyMemory` as a callback, to be called with each chunk. */
export function createYoungCollector(): (chunk: Uint8Array) => void {
  return ({ length }) => {
    passedBytes += length
    if (passedBytes < collectEveryBytes) return
    passedBytes = 0
    collectYoung()
  }
}

const startupDelayMs = 3_000

/** Schedules a collection of the start-up's garbage, an eighth of the memory. Returns a function that cancels it. */
export function collectAfterStart(): () => void {
  const timer = setTimeout(collectAll, startupDelayMs).unref()
  return () => clearTimeout(timer)
}

interface Collect {
  (options: { type: 'minor' }): void
  (options: { type: 'major' }): void
}
let collectFunction: Collect | undefined

function collector(): Collect {
  if (!collectFunction) {
    setFlagsFromString('--expose-gc')
    collectFunction = runInNewContext('gc') as Collect
  }
  return collectFunction
}

/** Collects only the young generation, which takes about a millisecond. */
export const collectYoung = (): void => collector()({ type: 'minor' })

/**
 * Collects everything except compiled code, which the next requests need. It takes tens of milliseconds, so call it only when idle.
 */
const collectAll = (): void => collector()({ type: 'major' })
