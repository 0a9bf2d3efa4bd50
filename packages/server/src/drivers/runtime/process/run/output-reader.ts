import { closeSync, type FSWatcher, fstatSync, ftruncateSync, openSync, readSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { OutputLine } from '../../runtime.ts'
import type { InstanceRecord, InstanceRecords } from '../processes/instance-record.ts'

type Stream = 'stdout' | 'stderr'
const streams = ['stdout', 'stderr'] as const
const chunkBytes = 64 * 1024
const lookMs = 100
/** Where the machine tells of changes, what it may have missed is found after this. */
const missedMs = 15_000
const longestReadMs = 3_000
/** What was read and is longer than this is cut off, so that a chatty program does not fill the disk. */
const cutAboveBytes = 4 * 1024 * 1024
/** So much may wait to be read. Of a program that writes faster the rest is left out, or it would fill the disk all the same. */
const backlogBytes = 16 * 1024 * 1024
/** Read without a pause; the others of this machine have their turn afterwards. */
const burstBytes = 1024 * 1024

/** Lines of an instance's output files from a position on, as they are written. */
export async function* readOutput(
  id: string,
  after: string | null,
  parts: {
    records: InstanceRecords
    recordOf(): InstanceRecord | undefined
    hasEnded(): boolean
    /** Aborted when it has been ended: nothing in its folder changes with that. */
    ending?: AbortSignal
  },
  abort: AbortSignal,
): AsyncGenerator<OutputLine & { position: string }> {
  const offsets = parsePosition(after)
  const lines = { stdout: new LinesByOffset(offsets.stdout), stderr: new LinesByOffset(offsets.stderr) }
  let burst = 0
  using news = new FolderNews(dirname(parts.records.outputFile(id, 'stdout')))
  while (!abort.aborted) {
    const ended = parts.hasEnded()
    let found = 0
    for (const stream of streams) {
      const next = readNext(id, stream, offsets, parts)
      found += next?.length ?? 0
      if (typeof next === 'string') lines[stream].skipTo(offsets[stream])
      const whole = typeof next === 'string' ? [next] : next ? lines[stream].take(next) : ended ? lines[stream].rest() : []
      const time = new Date().toISOString()
      for (const message of whole)
        yield { time, stream, message, position: `${lines.stdout.handedOut}.${lines.stderr.handedOut}` }
    }
    burst = found > 0 ? burst + found : 0
    if (found > 0 && burst < burstBytes) continue
    if (found === 0 && ended) return
    if (found === 0 && !parts.ending?.aborted) await news.next(abort, parts.ending)
    else await pause(lookMs, undefined, { signal: abort }).catch(() => undefined)
    burst = 0
  }
}

/** Wakes a reader when something in a folder has changed; where the machine does not tell, after a short while. */
class FolderNews {
  readonly #watcher: FSWatcher | null
  #isNews = false
  #wake: (() => void) | null = null

  constructor(folder: string) {
    this.#watcher = watched(folder, () => {
      this.#isNews = true
      this.#wake?.()
    })
  }

  /** What came since the last call counts: nothing is written unseen between a look and the wait. */
  async next(...aborts: (AbortSignal | undefined)[]): Promise<void> {
    if (!this.#isNews) {
      const woken = new AbortController()
      this.#wake = () => woken.abort()
      const signal = AbortSignal.any([woken.signal, ...aborts.filter((one) => one !== undefined)])
      await pause(this.#watcher ? missedMs : lookMs, undefined, { signal }).catch(() => undefined)
      this.#wake = null
    }
    this.#isNews = false
  }

  [Symbol.dispose](): void {
    this.#watcher?.close()
  }
}

function watched(folder: string, onChange: () => void): FSWatcher | null {
  try {
    return watch(folder, { persistent: false }, onChange).on('error', onChange)
  } catch {
    // No folder yet, or the machine has no more to give.
    return null
  }
}

const newline = 10
const longestLineBytes = 16 * 1024

/** Whole lines from chunks, and up to which byte they go: whoever stops after one of them goes on with the next. */
class LinesByOffset {
  #pending = Buffer.alloc(0)
  /** End of the last line that was handed out. */
  handedOut: number

  constructor(from: number) {
    this.handedOut = from
  }

  *take(chunk: Uint8Array): Generator<string> {
    this.#pending = Buffer.concat([this.#pending, chunk])
    for (;;) {
      const at = this.#pending.indexOf(newline)
      // A line without end is cut.
      if (at < 0 && this.#pending.length <= longestLineBytes) return
      yield this.#hand(at < 0 ? longestLineBytes : at, at < 0 ? 0 : 1)
    }
  }

  skipTo(offset: number): void {
    this.#pending = Buffer.alloc(0)
    this.handedOut = offset
  }

  *rest(): Generator<string> {
    if (this.#pending.length > 0) yield this.#hand(this.#pending.length, 0)
  }

  #hand(length: number, separator: number): string {
    const message = this.#pending.toString('utf8', 0, length)
    this.#pending = this.#pending.subarray(length + separator)
    this.handedOut += length + separator
    return message.endsWith('\r') ? message.slice(0, -1) : message
  }
}

/** Who reads which output now: the files of an instance go only when they have been read to the end. */
export class Readers {
  readonly #open = new Map<string, Set<Promise<void>>>()
  readonly #endings = new Map<string, AbortController>()

  async *count<Line>(id: string, lines: AsyncIterable<Line>): AsyncGenerator<Line> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const mine = this.#open.get(id) ?? new Set()
    this.#open.set(id, mine.add(promise))
    try {
      yield* lines
    } finally {
      mine.delete(promise)
      if (mine.size === 0 && this.#open.get(id) === mine) this.#open.delete(id)
      resolve()
    }
  }

  endingOf(id: string): AbortSignal {
    const known = this.#endings.get(id) ?? new AbortController()
    this.#endings.set(id, known)
    return known.signal
  }

  /** It has been ended: who reads it reads to the end. Bounded: a reader that hangs keeps nothing alive. */
  async done(id: string): Promise<void> {
    this.#endings.get(id)?.abort()
    this.#endings.delete(id)
    await Promise.race([Promise.all(this.#open.get(id) ?? []), pause(longestReadMs, undefined, { ref: false })])
  }
}

function parsePosition(after: string | null): Record<Stream, number> {
  const [stdout = 0, stderr = 0] = (after ?? '').split('.').map(Number)
  return { stdout: stdout || 0, stderr: stderr || 0 }
}

/** Bytes, or the words in place of what is left out; null when there is nothing new. */
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
    const cutOff = record.cutOff[stream]
    const { size } = fstatSync(file)
    // The program can shorten its own output: then all of it is new.
    const from = offsets[stream] - cutOff > size ? 0 : Math.max(0, offsets[stream] - cutOff)
    if (size - from > backlogBytes) {
      cut(file, size, stream, record, records)
      offsets[stream] = record.cutOff[stream]
      return `[${Math.ceil((size - from) / 1024 / 1024)} MB of output left out: it writes faster than it can be read]`
    }
    if (from === size) {
      if (size > cutAboveBytes) cut(file, size, stream, record, records)
      return null
    }
    const chunk = new Uint8Array(Math.min(chunkBytes, size - from))
    const length = readSync(file, chunk, 0, chunk.length, from)
    offsets[stream] = cutOff + from + length
    return chunk.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

/** The program appends, so that its next line begins at the new front. */
function cut(file: number, size: number, stream: Stream, record: InstanceRecord, records: InstanceRecords): void {
  ftruncateSync(file, 0)
  record.cutOff[stream] += size
  records.saveEventually(record)
}
