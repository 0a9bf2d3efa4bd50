import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** V8 lets 64 MB of dead buffers pile up before it looks; an upload alone would take as much. */
const collectEveryBytes = 8 * 1024 * 1024
/** Of all streams together: many short ones leave as much behind as a long one. */
let passed = 0

/** The same chunks; the dead ones are collected as they pass, so that a long stream takes no more memory than a short one. */
export async function* inSteadyMemory<Chunk extends Uint8Array>(chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
  const look = collectingYoung()
  for await (const chunk of chunks) {
    look(chunk)
    yield chunk
  }
}

/** The same for one who is shown each chunk as it passes. */
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

/** Of the young objects alone, which takes about a millisecond. */
export const collectYoung = (): void => collector()({ type: 'minor' })

/** Of everything but compiled code, which the next requests need: tens of milliseconds, so only when nothing much is going on. */
export const collectAll = (): void => collector()({ type: 'major' })
