import { type AnyEntry, type LogKind, type NewEntry, toLine } from './log-entry.ts'
import { compileFilter, type LogFilter } from './log-filter.ts'
import { PendingLines, type PendingMemory } from './pending-lines.ts'
import { SegmentList, type SegmentSettings } from './segment-list.ts'
import type { Cursor, Wanted } from './segment-reader.ts'

export interface StreamSettings extends SegmentSettings {
  kind: LogKind
  flushMs: number
  now: () => number
  memory: PendingMemory
}

export interface TailOptions {
  limit: number
  /** Entries of this time and later. */
  since?: Date
  /** Entries before this id, to page back. */
  before?: string
  filter?: LogFilter
  abort?: AbortSignal
}

export interface FollowOptions {
  /** Begin after this entry; without it, begin with the tail, if one is asked for, and what comes from now on. */
  afterId?: string
  tail?: number
  /** Bounds the tail. */
  since?: Date
  filter?: LogFilter
}

/** Large enough that a stream under load writes seldom. */
const flushAtBytes = 256 * 1024
/** Where appending to one stream waits, and where it drops lines of those who do not wait. */
const waitAtBytes = 1024 * 1024
const dropAtBytes = 4 * 1024 * 1024
const retryMs = 1000

/** The log of one project and kind: lines waiting to be written, its segments, and those who follow it. */
export class LogStream {
  readonly #settings: StreamSettings
  readonly #segments: SegmentList
  /** The last id given out, and the last one whose line is in a file. */
  #lastId: number
  #flushedId: number
  readonly #pending: PendingLines
  #dropped: { count: number; last: NewEntry<LogKind> } | null = null
  #timer: NodeJS.Timeout | null = null
  /** Writes follow one another; this is the end of the queue. */
  #writing: Promise<void> = Promise.resolve()
  /** The write that has not begun, if any: it takes along whatever is appended until then. */
  #nextFlush: Promise<void> | null = null
  readonly #waiting = new Set<() => void>()
  #ended = false

  static async open(settings: StreamSettings): Promise<LogStream> {
    return new LogStream(settings, await SegmentList.open(settings))
  }

  private constructor(settings: StreamSettings, segments: SegmentList) {
    this.#settings = settings
    this.#segments = segments
    this.#pending = new PendingLines(settings.memory)
    this.#lastId = segments.lastId
    this.#flushedId = segments.lastId
  }

  /** Resolves when there is room for more. Who does not wait loses lines once the bound is reached, with a line that says so. */
  async append(entries: readonly NewEntry<LogKind>[]): Promise<void> {
    if (this.#ended) return
    for (const entry of entries) {
      this.#tellDropped()
      if (this.#isExhausted) this.#dropped = { count: (this.#dropped?.count ?? 0) + 1, last: entry }
      else this.#hold(entry)
    }
    const mustWait = this.#pending.bytes >= waitAtBytes || this.#settings.memory.isFull
    if (mustWait) await this.flush().catch(() => undefined)
    else if (this.#pending.bytes >= flushAtBytes) void this.flush().catch(() => undefined)
    else if (!this.#pending.isEmpty) this.#flushIn(this.#settings.flushMs)
  }

  /** Everything appended so far is in the file afterwards, where it outlives this process. */
  flush(): Promise<void> {
    if (this.#nextFlush) return this.#nextFlush
    this.#stopTimer()
    const written = this.#writing.then(() => {
      this.#nextFlush = null
      return this.#writePending()
    })
    this.#nextFlush = written
    this.#writing = written.catch(() => undefined)
    return written
  }

  /** As `flush`, and it outlives the machine's going down. */
  async sync(): Promise<void> {
    await this.flush()
    await this.#segments.sync()
  }

  /** The newest entries that match, the oldest of them first. */
  async tail({ limit, since, before, filter, abort }: TailOptions): Promise<AnyEntry[]> {
    await this.#show()
    const wanted: Wanted = {
      afterId: 0,
      beforeId: before === undefined ? Number.MAX_SAFE_INTEGER : Number(before),
      since: since?.getTime() ?? Number.NEGATIVE_INFINITY,
      filter: compileFilter(filter),
      abort,
    }
    const newestFirst: AnyEntry[] = []
    if (limit > 0) {
      for await (const entry of this.#segments.backward(wanted)) if (newestFirst.push(entry) >= limit) break
    }
    abort?.throwIfAborted()
    return newestFirst.reverse()
  }

  /** Entries after an id, oldest first, up to what is appended by now. */
  async *read(afterId: number, filter: LogFilter | undefined, abort?: AbortSignal): AsyncGenerator<AnyEntry> {
    await this.#show()
    yield* this.#segments.forward(after(afterId, filter, abort))
  }

  /** Runs until aborted. Entries come from the files, so that a slow reader holds nothing in memory; none falls between tail and follow. */
  async *follow({ afterId, tail = 0, since, filter }: FollowOptions, abort: AbortSignal): AsyncGenerator<AnyEntry> {
    let position = Math.min(Number(afterId ?? this.#lastId), this.#lastId)
    if (afterId === undefined) yield* await this.tail({ limit: tail, since, before: String(position + 1), filter, abort })
    const cursor: Cursor = { segment: null, offset: 0 }
    while (!abort.aborted) {
      if (this.#flushedId <= position) {
        if (this.#ended) return
        await this.#nextWrite(abort)
        continue
      }
      const readTo = this.#flushedId
      for await (const entry of this.#segments.forward(after(position, filter, abort), cursor)) {
        if (abort.aborted) return
        position = Number(entry.id)
        yield entry
      }
      position = Math.max(position, readTo)
    }
  }

  /** Nothing is under way, so that the stream can be let go and opened anew from its files. */
  get isIdle(): boolean {
    return this.#pending.bytes === 0 && !this.#dropped && !this.#segments.isPacking
  }

  /** Ends those who follow. With `discard`, what waits to be written is let go. */
  async close({ discard = false } = {}): Promise<void> {
    this.#ended = true
    if (discard) {
      this.#pending.release(this.#pending.take(Number.POSITIVE_INFINITY))
      this.#dropped = null
    }
    try {
      await this.sync()
    } finally {
      this.#stopTimer()
      this.#wakeFollowers()
      await this.#segments.close()
    }
  }

  /** An id is the time in microseconds, or one more than the last: new even where the files with the earlier ones are gone. */
  #hold(entry: NewEntry<LogKind>): void {
    const now = this.#settings.now()
    this.#lastId = Math.max(this.#lastId + 1, now * 1000)
    this.#pending.add(toLine(this.#settings.kind, this.#lastId, entry, now), this.#lastId)
  }

  get #isExhausted(): boolean {
    return this.#pending.bytes >= dropAtBytes || this.#settings.memory.isExhausted
  }

  #stopTimer(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }

  #flushIn(ms: number): void {
    this.#timer ??= setTimeout(() => void this.flush().catch(() => undefined), ms)
  }

  /** What cannot be written now is still tried later, and must not keep what is written from being read. */
  async #show(): Promise<void> {
    await this.flush().catch(() => undefined)
  }

  /** Lines that could not be written stay first in line, within the bound of what may wait. */
  async #writePending(): Promise<void> {
    this.#tellDropped()
    const target = this.#lastId
    while (!this.#pending.isEmpty && this.#flushedId < target) {
      const chunks = this.#pending.take(this.#segments.room)
      await this.#segments.write(chunks).catch((error) => {
        this.#pending.putBack(chunks)
        this.#settings.onError(error, `${this.#settings.folder} cannot be written, will retry`)
        this.#flushIn(retryMs)
        throw error
      })
      this.#pending.release(chunks)
      this.#flushedId = chunks.at(-1)!.lastId
      this.#wakeFollowers()
    }
  }

  /** Stands where the lines would have been. */
  #tellDropped(): void {
    if (!this.#dropped || this.#isExhausted) return
    const { count, last } = this.#dropped
    this.#dropped = null
    const words = `${count} lines were dropped: they arrived faster than they could be written`
    this.#settings.onError(new Error(words), this.#settings.folder)
    if ('message' in last) this.#hold({ ...last, message: `[${words}]` })
  }

  #wakeFollowers(): void {
    for (const wake of [...this.#waiting]) wake()
  }

  #nextWrite(abort: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake)
        abort.removeEventListener('abort', wake)
        resolve()
      }
      this.#waiting.add(wake)
      abort.addEventListener('abort', wake)
    })
  }
}

function after(afterId: number, filter: LogFilter | undefined, abort?: AbortSignal): Wanted {
  return { afterId, beforeId: Number.MAX_SAFE_INTEGER, since: Number.NEGATIVE_INFINITY, filter: compileFilter(filter), abort }
}
