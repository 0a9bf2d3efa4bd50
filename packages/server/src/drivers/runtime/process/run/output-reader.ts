import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { OutputLine } from '../../runtime.ts'
import type { InstanceRecord, InstanceRecords } from '../processes/instance-record.ts'
import { LinesByOffset } from './lines-by-offset.ts'
import { OutputFile } from './output-file.ts'
import { OutputWaiter } from './output-waiter.ts'

type Stream = 'stdout' | 'stderr'
const streams = ['stdout', 'stderr'] as const
const maxReadMs = 3_000
/** Bytes read without a pause. The pause lets other work run. */
const burstBytes = 1024 * 1024

/** Streams the lines of an instance's output files from a position on. */
export async function* readOutput(
  id: string,
  after: string | null,
  parts: {
    records: InstanceRecords
    recordOf(): InstanceRecord | undefined
    hasEnded(): boolean
    /** Aborted when the instance was stopped. A stop changes no file in the folder, so no change event wakes the reader. */
    stopped?: AbortSignal
  },
  abort: AbortSignal,
): AsyncGenerator<OutputLine & { position: string }> {
  const { records, recordOf, stopped } = parts
  const start = parsePosition(after)
  const lines = { stdout: new LinesByOffset(start.stdout), stderr: new LinesByOffset(start.stderr) }
  using stdout = new OutputFile('stdout', start.stdout, records)
  using stderr = new OutputFile('stderr', start.stderr, records)
  using waiter = new OutputWaiter(dirname(records.outputFile(id, 'stdout')), abort, stopped)
  const files = { stdout, stderr }
  let burstLength = 0
  while (!abort.aborted) {
    const ended = parts.hasEnded()
    let readBytes = 0
    for (const stream of streams) {
      const next = files[stream].readNext(recordOf())
      readBytes += next?.length ?? 0
      if (next === null && !ended) continue
      const time = new Date().toISOString()
      for (const message of messagesOf(next, lines[stream], files[stream].offset))
        yield { time, stream, message, position: `${lines.stdout.endOffset}.${lines.stderr.endOffset}` }
    }
    burstLength = readBytes > 0 ? burstLength + readBytes : 0
    const readsWithoutPause = stdout.hasMore || stderr.hasMore || ended
    if (readBytes > 0 && readsWithoutPause && burstLength < burstBytes) continue
    if (readBytes === 0 && ended) return
    if (readBytes > 0 || stopped?.aborted) await waiter.pause()
    else {
      for (const stream of streams) files[stream].release()
      await waiter.nextChange()
    }
    burstLength = 0
  }
}

/** The lines that a read completes: of the bytes, the message in place of dropped output, or the rest after the end. */
function messagesOf(next: Buffer | string | null, lines: LinesByOffset, offset: number): Iterable<string> {
  if (next === null) return lines.flush()
  if (typeof next !== 'string') return lines.addChunk(next)
  lines.skipTo(offset)
  return [next]
}

/** Counts the readers of each instance's output. The files of a stopped instance are removed after they have been read. */
export class Readers {
  readonly #open = new Map<string, Set<Promise<void>>>()
  readonly #stopControllers = new Map<string, AbortController>()

  async *track<Line>(id: string, lines: AsyncIterable<Line>): AsyncGenerator<Line> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const readers = this.#open.get(id) ?? new Set()
    this.#open.set(id, readers.add(promise))
    try {
      yield* lines
    } finally {
      readers.delete(promise)
      if (readers.size === 0 && this.#open.get(id) === readers) this.#open.delete(id)
      resolve()
    }
  }

  stopSignalOf(id: string): AbortSignal {
    const controller = this.#stopControllers.get(id) ?? new AbortController()
    this.#stopControllers.set(id, controller)
    return controller.signal
  }

  /** Waits until the readers of a stopped instance have read everything, up to a time limit. */
  async finish(id: string): Promise<void> {
    this.#stopControllers.get(id)?.abort()
    this.#stopControllers.delete(id)
    await Promise.race([Promise.all(this.#open.get(id) ?? []), pause(maxReadMs, undefined, { ref: false })])
  }
}

function parsePosition(after: string | null): Record<Stream, number> {
  const [stdout = 0, stderr = 0] = (after ?? '').split('.').map(Number)
  return { stdout: stdout || 0, stderr: stderr || 0 }
}
