import { randomBytes } from 'node:crypto'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Mutex } from '../keyed-mutex.ts'
import { type EntryOf, isLogId, type LogKind, type NewEntry } from './log-entry.ts'
import type { LogFilter } from './log-filter.ts'
import { type FollowOptions, LogStream, type TailOptions } from './log-stream.ts'
import { PendingMemory } from './pending-lines.ts'
import { isMissing } from './segment.ts'

export interface LogStoreSettings {
  folder: string
  /** Disk quota per project, for all kinds together; the oldest lines are deleted first. */
  maxBytesPerProject?: number
  /** A segment that reaches this size is closed and compressed. */
  segmentBytes?: number
  /** How long a line may wait before it is written. */
  flushMs?: number
  /** How many bytes may wait to be written, over all projects. */
  maxPendingBytes?: number
  /** How many streams keep their file open. */
  maxOpenStreams?: number
  now?: () => number
  onError?: (error: unknown, message: string) => void
}

export interface ReadOptions {
  afterId?: string
  filter?: LogFilter
}

export interface LogStore {
  /**
   * Resolves when more lines may be appended; the lines are in a file soon after. Callers that do not await it may lose lines under
   * overload.
   */
  append<Kind extends LogKind>(projectId: string, kind: Kind, entries: readonly NewEntry<Kind>[]): Promise<void>
  /** Writes the entries appended so far to the file. They then survive the end of this process; `flush` also syncs them. */
  write(projectId: string, kind: LogKind): Promise<void>
  /** The newest matching entries, oldest first, including all entries appended before the call. */
  tail<Kind extends LogKind>(projectId: string, kind: Kind, options: TailOptions): Promise<EntryOf[Kind][]>
  /** Entries after an id, or all, oldest first, including all entries appended before the call. */
  read<Kind extends LogKind>(
    projectId: string,
    kind: Kind,
    options?: ReadOptions,
    abort?: AbortSignal,
  ): AsyncGenerator<EntryOf[Kind]>
  /** Entries after an id, or a tail, and then new entries, until aborted or the project is removed. */
  follow<Kind extends LogKind>(
    projectId: string,
    kind: Kind,
    options: FollowOptions,
    abort: AbortSignal,
  ): AsyncGenerator<EntryOf[Kind]>
  /** Deletes all logs of the project; running `follow` calls end. */
  remove(projectId: string): Promise<void>
  /** Writes everything appended so far to the files and syncs them to disk. */
  flush(): Promise<void>
  close(): Promise<void>
}

/** Each kind has its share of the project's bytes, so that one kind cannot displace another. */
const shares: Record<LogKind, number> = { runtime: 0.4, requests: 0.3, deployments: 0.2, tasks: 0.1 }
const kinds = Object.keys(shares) as LogKind[]
const megabyte = 1024 * 1024

export function createLogStore(settings: LogStoreSettings): LogStore {
  const streams = new OpenStreams(settings)
  return {
    append: (projectId, kind, entries) => streams.use(projectId, kind, (stream) => stream.append(entries)),
    write: (projectId, kind) => streams.write(projectId, kind),
    tail: async (projectId, kind, options) => {
      checkId(options.before)
      return (await streams.use(projectId, kind, (stream) => stream.tail(options))) as never[]
    },
    read: (projectId, kind, { afterId, filter } = {}, abort) => {
      checkId(afterId)
      return streams.iterate(projectId, kind, (stream) =>
        stream.read(Number(afterId ?? 0), filter, abort),
      ) as AsyncGenerator<never>
    },
    follow: (projectId, kind, options, abort) => {
      checkId(options.afterId)
      return streams.iterate(projectId, kind, (stream) => stream.follow(options, abort)) as AsyncGenerator<never>
    },
    remove: (projectId) => streams.remove(projectId),
    flush: () => streams.flush(),
    close: () => streams.close(),
  }
}

function checkId(id: string | undefined): void {
  if (id === undefined || isLogId(id)) return
  throw new RangeError(`${JSON.stringify(id.slice(0, 40))} is not the id of a log entry`)
}

interface OpenStream {
  opened: Promise<LogStream>
  /** Null until the stream was opened. */
  stream: LogStream | null
  users: number
}

/** Opens streams at their first use; above a limit, the longest idle ones are closed. */
class OpenStreams {
  readonly #settings: Required<LogStoreSettings>
  readonly #memory: PendingMemory
  readonly #open = new Map<string, OpenStream>()
  readonly #removing = new Map<string, Promise<void>>()
  readonly #compression = new Mutex()
  #closed = false

  constructor(settings: LogStoreSettings) {
    this.#settings = {
      maxBytesPerProject: 64 * megabyte,
      segmentBytes: 2 * megabyte,
      flushMs: 50,
      maxPendingBytes: 8 * megabyte,
      maxOpenStreams: 128,
      now: Date.now,
      onError: () => undefined,
      ...settings,
    }
    this.#memory = new PendingMemory(this.#settings.maxPendingBytes)
    void this.#finishRemovals()
  }

  async use<T>(projectId: string, kind: LogKind, work: (stream: LogStream) => Promise<T>): Promise<T> {
    const entry = this.#acquire(projectId, kind)
    try {
      return await entry.opened.then(work)
    } finally {
      this.#release(entry)
    }
  }

  async *iterate<T>(projectId: string, kind: LogKind, work: (stream: LogStream) => AsyncGenerator<T>): AsyncGenerator<T> {
    const entry = this.#acquire(projectId, kind)
    try {
      yield* work(await entry.opened)
    } finally {
      this.#release(entry)
    }
  }

  /** Renames the folder first, so that a crash leaves no partly deleted folder in place. */
  async remove(projectId: string): Promise<void> {
    const folder = this.#folderOf(projectId)
    const removedFolder = join(this.#settings.folder, `removed-${randomBytes(8).toString('hex')}.tmp`)
    const closing = kinds.map(async (kind) => {
      const key = `${projectId}/${kind}`
      const entry = this.#open.get(key)
      this.#open.delete(key)
      await (await entry?.opened)?.close({ discard: true })
    })
    const removed = Promise.allSettled(closing).then(() => rename(folder, removedFolder))
    const done = removed.catch((error) => {
      if (!isMissing(error)) throw error
    })
    this.#removing.set(projectId, done)
    await done.finally(() => this.#removing.delete(projectId))
    await rm(removedFolder, { recursive: true, force: true })
  }

  /** A stream that is not open has nothing to write. */
  async write(projectId: string, kind: LogKind): Promise<void> {
    const entry = this.#open.get(`${projectId}/${kind}`)
    await (await entry?.opened)?.flush()
  }

  async flush(): Promise<void> {
    await waitForAll([...this.#open.values()].map(async ({ opened }) => (await opened).sync()))
  }

  async close(): Promise<void> {
    this.#closed = true
    const all = [...this.#open.values()]
    this.#open.clear()
    await waitForAll(all.map(async ({ opened }) => (await opened).close()))
  }

  #acquire(projectId: string, kind: LogKind): OpenStream {
    if (this.#closed) throw new Error('The log store is closed')
    const key = `${projectId}/${kind}`
    const entry = this.#open.get(key) ?? this.#openStream(projectId, kind)
    this.#open.delete(key)
    this.#open.set(key, entry)
    entry.users++
    return entry
  }

  #openStream(projectId: string, kind: LogKind): OpenStream {
    const folder = join(this.#folderOf(projectId), kind)
    const { maxBytesPerProject, segmentBytes, flushMs, now, onError } = this.#settings
    const maxBytes = Math.floor(maxBytesPerProject * shares[kind])
    const opening = Promise.resolve(this.#removing.get(projectId)?.catch(() => undefined)).then(() =>
      LogStream.open({
        folder,
        kind,
        maxBytes,
        segmentBytes: Math.min(segmentBytes, Math.floor(maxBytes / 8)),
        flushMs,
        now,
        onError,
        memory: this.#memory,
        withLock: (work) => this.#compression.run(work),
      }),
    )
    const entry: OpenStream = { opened: opening, stream: null, users: 0 }
    opening.then(
      (stream) => {
        entry.stream = stream
      },
      () => this.#open.delete(`${projectId}/${kind}`),
    )
    return entry
  }

  #release(entry: OpenStream): void {
    entry.users--
    let excess = this.#open.size - this.#settings.maxOpenStreams
    for (const [key, { stream, users }] of this.#open) {
      if (excess <= 0) return
      if (users > 0 || !stream?.isIdle) continue
      this.#open.delete(key)
      excess--
      void stream.close().catch((error) => this.#settings.onError(error, key))
    }
  }

  /** Ids come from the database, but are validated because they become a folder's name. */
  #folderOf(projectId: string): string {
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(projectId)) throw new RangeError('Invalid project id')
    return join(this.#settings.folder, projectId)
  }

  async #finishRemovals(): Promise<void> {
    const names = await readdir(this.#settings.folder).catch(() => [])
    const removedFolders = names.filter((name) => name.startsWith('removed-') && name.endsWith('.tmp'))
    await Promise.all(
      removedFolders.map((name) =>
        rm(join(this.#settings.folder, name), { recursive: true, force: true }).catch(() => undefined),
      ),
    )
  }
}

/** Waits for all, so that a failing stream does not prevent the others from finishing; then throws the first error. */
async function waitForAll(work: Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(work)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}
