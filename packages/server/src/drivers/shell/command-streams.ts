import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import type { OutputReceiver } from './command.ts'
import { untilAborted } from './until-aborted.ts'

/** Detects that the pipes of an exited command hold no more data, although another process keeps them open. */
export class OutputActivity {
  #chunkCount = 0
  #activeReceivers = 0

  async track(receive: () => void | Promise<void>): Promise<void> {
    this.#chunkCount += 1
    this.#activeReceivers += 1
    try {
      await receive()
    } finally {
      this.#activeReceivers -= 1
    }
  }

  /** Resolves when for a second no chunk arrived and no receiver was running. */
  async idle(): Promise<void> {
    for (let seen = this.#chunkCount, quiet = 0; quiet < 20; quiet += 1) {
      await setTimeout(50, undefined, { ref: false })
      if (this.#activeReceivers > 0 || this.#chunkCount !== seen) quiet = 0
      seen = this.#chunkCount
    }
  }
}

/** Reads until the stream ends or is closed; rejects only with the receiver's error. */
export async function collectOutput(
  stream: Readable,
  activity: OutputActivity,
  keep: (chunk: Uint8Array) => void,
  receive?: OutputReceiver,
): Promise<void> {
  const chunks = stream[Symbol.asyncIterator]()
  while (true) {
    const next = await chunks.next().catch(() => ({ done: true as const, value: undefined }))
    if (next.done) return
    keep(next.value)
    await activity.track(() => receive?.(next.value))
  }
}

/**
 * Feeds the command's stdin. A command may exit without reading its input, which is not an error; the source is then not waited
 * for. Rejects only with the source's error.
 */
export async function feedInput(input: string | Uint8Array | AsyncIterable<Uint8Array>, stdin: Writable): Promise<void> {
  const closed = new AbortController()
  stdin.once('close', () => closed.abort())
  stdin.on('error', () => closed.abort())
  try {
    for await (const chunk of untilAborted(chunksOf(input), closed.signal)) {
      if (!stdin.write(chunk)) await once(stdin, 'drain', { signal: closed.signal })
    }
  } catch (error) {
    if (!closed.signal.aborted) throw error
  } finally {
    stdin.end()
  }
}

export function feedSecret(secret: string, stream: unknown): void {
  const pipe = stream as Writable
  pipe.on('error', () => pipe.destroy())
  pipe.end(`${secret}\n`)
}

async function* chunksOf(input: string | Uint8Array | AsyncIterable<Uint8Array>): AsyncIterable<string | Uint8Array> {
  if (typeof input === 'string' || input instanceof Uint8Array) yield input
  else yield* input
}
