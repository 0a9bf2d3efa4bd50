import { type AnyEntry, type LogKind, type NewEntry, toLine } from './log-entry.ts'
import { compileFilter, type LogFilter } from './log-filter.ts'
import { PendingLines, type PendingMemory } from './pending-lines.ts'
import { SegmentList, type SegmentSettings } from './segment-list.ts'
import type { Cursor, ReadRange } from './segment-reader.ts'

export interface StreamSettings extends SegmentSettings {
  kind: LogKind
  flushMs: number
  now: () => number
  memory: PendingMemory
}

export interface TailOptions {
  limit: number
  /** Entries at or after this time. */
  since?: Date
  /** Entries before this id, for paging back. */
  before?: string
  filter?: LogFilter
  abort?: AbortSignal
}

export interface FollowOptions {
  /** Start after this entry; without it, start with the tail, if requested, then new entries. */
  afterId?: string
  tail?: number
  /** Limits the tail. */
  since?: Date
  filter?: LogFilter
}

/** Large enough that a busy stream writes rarely. */
const flushAtBytes = 256 * 1024
/** Pending bytes of a stream from which `append` waits, and from which it drops lines of callers that do not wait. */
const waitAtBytes = 1024 * 1024
const dropAtBytes = 4 * 1024 * 1024
const retryMs = 1000

/** The log of one project and kind: lines waiting to be written, its segments, and its followers. */
export class LogStream {
  readonly #settings: StreamSettings
  readonly #segments: SegmentList
  /** The last assigned id, and the last id whose line is in a file. */
  #lastId: number
  #flushedId: number
  readonly #pending: PendingLines
  #dropped: { count: number; last: NewEntry<LogKind> } | null = null
  #timer: NodeJS.Timeout | null = null
  /** The end of the queue of writes, which run one after another. */
  #writing: Promise<void> = Promise.resolve()
  /** The write that has not begun, if any: it includes everything appended until it begins. */
  #nextFlush: Promise<void> | null = null
  readonly #waiting = new Set<() => void>()
  #hasEnded = false

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

  /**
   * Resolves when more lines may be appended. If a caller does not wait, lines above the limit are dropped, and a line in the log
   * reports it.
   */
  async append(entries: readonly NewEntry<LogKind>[]): Promise<void> {
    if (this.#hasEnded) return
    for (const entry of entries) {
      this.#reportDropped()
      if (this.#isExhausted) this.#dropped = { count: (this.#dropped?.count ?? 0) + 1, last: entry }
      else this.#addLine(entry)
    }
    const mustWait = this.#pending.bytes >= waitAtBytes || this.#settings.memory.isFull
    if (mustWait) await this.flush().catch(() => undefined)
    else if (this.#pending.bytes >= flushAtBytes) void this.flush().catch(() => undefined)
    else if (!this.#pending.isEmpty) this.#flushIn(this.#settings.flushMs)
  }

  /** Writes everything appended so far to the file, where it survives the end of this process. */
  flush(): Promise<void> {
    if (this.#nextFlush) return this.#nextFlush
    this.#stopTimer()
    const write = this.#writing.then(() => {
      this.#nextFlush = null
      return this.#writePending()
    })
    this.#nextFlush = write
    this.#writing = write.catch(() => undefined)
    return write
  }

  /** Flushes and then syncs to disk, so that the lines survive a crash of the machine. */
  async sync(): Promise<void> {
    await this.flush()
    await this.#segments.sync()
  }

  /** The newest matching entries, oldest first. */
  async tail({ limit, since, before, filter, abort }: TailOptions): Promise<AnyEntry[]> {
    await this.#flushForRead()
    const range: ReadRange = {
      afterId: 0,
      beforeId: before === undefined ? Number.MAX_SAFE_INTEGER : Number(before),
      since: since?.getTime() ?? Number.NEGATIVE_INFINITY,
      filter: compileFilter(filter),
      abort,
    }
    const newestFirst: AnyEntry[] = []
    if (limit > 0) {
      for await (const entry of this.#segments.backward(range)) if (newestFirst.push(entry) >= limit) break
    }
    abort?.throwIfAborted()
    return newestFirst.reverse()
  }

  /** Entries after an id, oldest first, up to the last one appended so far. */
  async *read(afterId: number, filter: LogFilter | undefined, abort?: AbortSignal): AsyncGenerator<AnyEntry> {
    await this.#flushForRead()
    yield* this.#segments.forward(after(afterId, filter, abort))
  }

  /**
   * Runs until aborted. Entries are read from the files, so that a slow reader holds nothing in memory; none is lost between tail
   * and follow.
   */
  async *follow({ afterId, tail = 0, since, filter }: FollowOptions, abort: AbortSignal): AsyncGenerator<AnyEntry> {
    let position = Math.min(Number(afterId ?? this.#lastId), this.#lastId)
    if (afterId === undefined) yield* await this.tail({ limit: tail, since, before: String(position + 1), filter, abort })
    const cursor: Cursor = { segment: null, offset: 0 }
    while (!abort.aborted) {
      if (this.#flushedId <= position) {
        if (this.#hasEnded) return
        await this.#waitForWrite(abort)
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

  /** True if no write is pending, so that the stream can be closed and reopened from its files. */
  get isIdle(): boolean {
    return this.#pending.bytes === 0 && !this.#dropped && !this.#segments.isPacking
  }

  /** Ends all followers. With `discard`, pending lines are dropped. */
  async close({ discard = false } = {}): Promise<void> {
    this.#hasEnded = true
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

  /** An id is the time in microseconds, or the last id plus one: unique even if the files with earlier ids are deleted. */
  #addLine(entry: NewEntry<LogKind>): void {
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

  /** Flushes before a read. A failed write is retried later, and must not prevent reading the lines that are in the file. */
  async #flushForRead(): Promise<void> {
    await this.flush().catch(() => undefined)
  }

  /** Lines whose write failed stay first in the queue, within the pending limit. */
  async #writePending(): Promise<void> {
    this.#reportDropped()
    const target = this.#lastId
    while (!this.#pending.isEmpty && this.#flushedId < target) {
      const chunks = this.#pending.take(this.#segments.freeBytes)
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

  /** Inserts a line that reports the dropped lines in their place. */
  #reportDropped(): void {
    if (!this.#dropped || this.#isExhausted) return
    const { count, last } = this.#dropped
    this.#dropped = null
    const text = `${count} lines were dropped: they arrived faster than they could be written`
    this.#settings.onError(new Error(text), this.#settings.folder)
    if ('message' in last) this.#addLine({ ...last, message: `[${text}]` })
  }

  #wakeFollowers(): void {
    for (const wake of [...this.#waiting]) wake()
  }

  #waitForWrite(abort: AbortSignal): Promise<void> {
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

function after(afterId: number, filter: LogFilter | undefined, abort?: AbortSignal): ReadRange {
  return { afterId, beforeId: Number.MAX_SAFE_INTEGER, since: Number.NEGATIVE_INFINITY, filter: compileFilter(filter), abort }
}
