import { PassThrough } from 'node:stream'
import type { Command, RunCommand, RunOptions } from './command.ts'

export interface CommandOutputOptions extends Omit<RunOptions, 'onStdout'> {
  abort: AbortSignal
  /** Bytes that are read ahead of the reader. */
  highWaterMark: number
}

/**
 * Standard output of a command as a stream. Rejects as `RunCommand` does. A reader that stops early ends the command; the stream
 * ends once the command has.
 */
export async function* commandOutput(
  run: RunCommand,
  command: Command,
  { abort, highWaterMark, ...options }: CommandOutputOptions,
): AsyncGenerator<Uint8Array> {
  const pipe = new PassThrough({ highWaterMark })
  const stop = new AbortController()
  const running = run(command, {
    ...options,
    abort: AbortSignal.any([abort, stop.signal]),
    onStdout: async (chunk) => {
      if (!pipe.write(Buffer.from(chunk))) await new Promise<void>((done) => pipe.once('drain', done).once('close', () => done()))
    },
  }).then(
    () => void pipe.end(),
    (error: Error) => void pipe.destroy(error),
  )
  try {
    for await (const chunk of pipe) yield chunk as Uint8Array
  } finally {
    stop.abort(new Error('The reader stopped'))
    pipe.destroy()
    await running
  }
}
