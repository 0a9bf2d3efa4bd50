import { closeSync, type FSWatcher, fstatSync, ftruncateSync, openSync, readSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { OutputLine } from '../../runtime.ts'
import type { InstanceRecord, InstanceRecords } from '../processes/instance-record.ts'

type Stream = 'stdout' | 'stderr'
const streams = ['stdout', 'stderr'] as const
const chunkBytes = 64 * 1024
const pollMs = 100
/** Polling interval beside the file system's change events, in case an event is lost. */
const fallbackPollMs = 15_000
const maxReadMs = 3_000
/** Length above which output that was read is cut off, so that a program does not fill the disk with it. */
const truncateAboveBytes = 4 * 1024 * 1024
/** Limit of unread output. Output beyond it is dropped, or a program that writes faster would fill the disk. */
const maxBacklogBytes = 16 * 1024 * 1024
/** Bytes read without a pause. Then other work has its turn. */
const burstBytes = 1024 * 1024

/** Streams the lines of an instance's output files from a position on. */
export async function* readOutput(
  id: string,
  after: string | null,
  parts: {
    records: InstanceRecords
    recordOf(): InstanceRecord | undefined
    hasEnded(): boolean
    /** Aborted when the instance was stopped, which changes no file in its folder. */
    stopped?: AbortSignal
  },
  abort: AbortSignal,
): AsyncGenerator<OutputLine & { position: string }> {
  const offsets = parsePosition(after)
  const lines = { stdout: new LinesByOffset(offsets.stdout), stderr: new LinesByOffset(offsets.stderr) }
  let burstLength = 0
  using changes = new FolderWatcher(dirname(parts.records.outputFile(id, 'stdout')))
  while (!abort.aborted) {
    const ended = parts.hasEnded()
    let readBytes = 0
    for (const stream of streams) {
      const next = readNext(id, stream, offsets, parts)
      readBytes += next?.length ?? 0
      if (typeof next === 'string') lines[stream].skipTo(offsets[stream])
      const messages =
        typeof next === 'string' ? [next] : next ? lines[stream].addChunk(next) : ended ? lines[stream].flush() : []
      const time = new Date().toISOString()
      for (const message of messages)
        yield { time, stream, message, position: `${lines.stdout.endOffset}.${lines.stderr.endOffset}` }
    }
    burstLength = readBytes > 0 ? burstLength + readBytes : 0
    if (readBytes > 0 && burstLength < burstBytes) continue
    if (readBytes === 0 && ended) return
    if (readBytes === 0 && !parts.stopped?.aborted) await changes.next(abort, parts.stopped)
    else await pause(pollMs, undefined, { signal: abort }).catch(() => undefined)
    burstLength = 0
  }
}

/** Wakes a reader when a folder has changed. Polls at a short interval where the system does not report changes. */
class FolderWatcher {
  readonly #watcher: FSWatcher | null
  #hasChanges = false
  #wake: (() => void) | null = null

  constructor(folder: string) {
    this.#watcher = openWatcher(folder, () => {
      this.#hasChanges = true
      this.#wake?.()
    })
  }

  /** Waits for a change. A change since the last call counts, so that none is missed between reading and waiting. */
  async next(...aborts: (AbortSignal | undefined)[]): Promise<void> {
    if (!this.#hasChanges) {
      const woken = new AbortController()
      this.#wake = () => woken.abort()
      const signal = AbortSignal.any([woken.signal, ...aborts.filter((one) => one !== undefined)])
      await pause(this.#watcher ? fallbackPollMs : pollMs, undefined, { signal }).catch(() => undefined)
      this.#wake = null
    }
    this.#hasChanges = false
  }

  [Symbol.dispose](): void {
    this.#watcher?.close()
  }
}

function openWatcher(folder: string, onChange: () => void): FSWatcher | null {
  try {
    return watch(folder, { persistent: false }, onChange).on('error', onChange)
  } catch {
    // The folder does not exist yet, or the system has no more watches.
    return null
  }
}

const newline = 10
const maxLineBytes = 16 * 1024

/** Splits chunks into lines and tracks the byte offset after each, so that a reader can continue after any line. */
class LinesByOffset {
  #pending = Buffer.alloc(0)
  /** End offset of the last line that was handed out. */
  endOffset: number

  constructor(from: number) {
    this.endOffset = from
  }

  *addChunk(chunk: Uint8Array): Generator<string> {
    this.#pending = Buffer.concat([this.#pending, chunk])
    for (;;) {
      const at = this.#pending.indexOf(newline)
      // A line that is too long is cut.
      if (at < 0 && this.#pending.length <= maxLineBytes) return
      yield this.#takeLine(at < 0 ? maxLineBytes : at, at < 0 ? 0 : 1)
    }
  }

  skipTo(offset: number): void {
    this.#pending = Buffer.alloc(0)
    this.endOffset = offset
  }

  *flush(): Generator<string> {
    if (this.#pending.length > 0) yield this.#takeLine(this.#pending.length, 0)
  }

  #takeLine(length: number, separator: number): string {
    const message = this.#pending.toString('utf8', 0, length)
    this.#pending = this.#pending.subarray(length + separator)
    this.endOffset += length + separator
    return message.endsWith('\r') ? message.slice(0, -1) : message
  }
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

/** Bytes, or a message in place of dropped output. Null if there is nothing new. */
function readNext(
  id: string,
  stream: Stream,
  offsets: Record<Stream, number>,
  { records, recordOf }: { records: InstanceRecords; recordOf(): InstanceRecord | undefined },
): Uint8Array | string | null {
  const record = recordOf()
  if (!record) return null
  let file: number
  try {
    file = openSync(records.outputFile(id, stream), 'r+')
  } catch {
    return null
  }
  try {
    const truncatedBytes = record.cutOff[stream]
    const { size } = fstatSync(file)
    // The program can truncate its own output. All of it is new then.
    const from = offsets[stream] - truncatedBytes > size ? 0 : Math.max(0, offsets[stream] - truncatedBytes)
    if (size - from > maxBacklogBytes) {
      truncateOutput(file, size, stream, record, records)
      offsets[stream] = record.cutOff[stream]
      return `[${Math.ceil((size - from) / 1024 / 1024)} MB of output dropped: the program writes faster than Berth reads]`
    }
    if (from === size) {
      if (size > truncateAboveBytes) truncateOutput(file, size, stream, record, records)
      return null
    }
    const chunk = new Uint8Array(Math.min(chunkBytes, size - from))
    const length = readSync(file, chunk, 0, chunk.length, from)
    offsets[stream] = truncatedBytes + from + length
    return chunk.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

/** Truncates an output file. The program appends, so its next line is at the beginning. */
function truncateOutput(file: number, size: number, stream: Stream, record: InstanceRecord, records: InstanceRecords): void {
  ftruncateSync(file, 0)
  record.cutOff[stream] += size
  records.saveEventually(record)
}
