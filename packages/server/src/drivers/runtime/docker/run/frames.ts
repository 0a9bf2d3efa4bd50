import type { OutputLine } from '../../runtime.ts'

export interface Frame {
  stream: OutputLine['stream']
  content: Buffer
}

const headerBytes = 8
/** Limit of a frame. The engine splits lines at 16 KB and other output slightly above, so a larger length is invalid. */
const maxFrameBytes = 4 * 1024 * 1024

/** Output of a terminal: a single stream, sent without frames. */
export async function* terminalFramesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of stream) {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk])
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      yield { stream: 'stdout', content: rest.subarray(0, end + 1) }
      rest = rest.subarray(end + 1)
    }
    if (rest.length > maxFrameBytes) throw new Error(`the engine sent a line larger than ${maxFrameBytes / 1024 / 1024} MB`)
  }
  if (rest.length > 0) yield { stream: 'stdout', content: rest }
}

/** Splits the stream in which the engine sends stdout and stderr. Each frame has a header with its stream and length. */
export async function* framesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of stream) {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk])
    while (rest.length >= headerBytes) {
      const end = headerBytes + rest.readUInt32BE(4)
      if (end > maxFrameBytes) throw new Error(`the engine sent a piece of output larger than ${maxFrameBytes / 1024 / 1024} MB`)
      if (rest.length < end) break
      yield { stream: rest[0] === 2 ? 'stderr' : 'stdout', content: rest.subarray(headerBytes, end) }
      rest = rest.subarray(end)
    }
  }
}
