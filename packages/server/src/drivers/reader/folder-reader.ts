import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { StackFiles, StackReading } from '../../source/compose/index.ts'
import type { DetectOptions } from '../../source/detection/detect-folder.ts'
import type { Detection } from '../../source/detection/detection.ts'
import { RootDirectoryError } from '../../source/detection/root-directory-error.ts'
import { SourceFileError } from '../../source/detection/source-file-error.ts'
import type { Excluded, SourceEntry } from '../../source/list-source.ts'
import type { ReaderRequest, Reply } from './messages.ts'
import { Reader, ReaderEnded } from './reader.ts'
import { ReaderQueue } from './reader-queue.ts'

/** A folder that exceeds the limits of one read; the message says which. */
export class FolderLimitExceeded extends Error {
  override readonly name = 'FolderLimitExceeded'
}

export interface FolderReaderSettings {
  /** Number of folders read concurrently; others are queued, with a queue per organisation. */
  maxConcurrent: number
  /** Maximum queued folders per organisation. */
  maxWaiting: number
  /** CPU time limit. The wall-clock limit is three times that, because a read waits for its turn on a busy machine. */
  seconds: number
  heapMb: number
  idleMs: number
  program: string
  entry: string
}

/** The organisation whose queue is used, and a signal to cancel. */
export interface ReadContext {
  organizationId: string
  abort?: AbortSignal | undefined
}

const wallClockFactor = 3
const pollIntervalMs = 250
const defaultSettings = { maxConcurrent: 2, maxWaiting: 50, seconds: 20, heapMb: 256, idleMs: 10_000 }

/**
 * Reads untrusted folders in separate processes with limits of time and memory: a read that exceeds them is killed with its
 * process, and no file blocks this process. A thread is not enough: V8 ends the whole process when a thread runs out of memory in
 * one step, and some of its work cannot be interrupted (docs/decisions/folder-reader.md).
 */
export class FolderReader {
  readonly #settings: FolderReaderSettings
  readonly #idle: { reader: Reader; idleTimer: NodeJS.Timeout }[] = []
  readonly #queue: ReaderQueue

  constructor(settings: Partial<FolderReaderSettings> = {}) {
    this.#settings = { ...defaultSettings, program: process.execPath, entry: ownEntry(), ...settings }
    this.#queue = new ReaderQueue(this.#settings)
  }

  /** Sets the program of readers that start later. Tests use a bundle, which starts ten times faster than the sources. */
  useEntry(entry: string): void {
    this.#settings.entry = entry
  }

  /** Throws `RootDirectoryError`, `SourceFileError`, `FolderLimitExceeded`, `TooManyWaiting` and the reason of `abort`. */
  async detect(folder: string, { abort, organizationId, ...options }: DetectOptions & ReadContext): Promise<Detection> {
    const { answer } = await this.#call({ task: 'detect', input: { folder, options } }, { abort, organizationId })
    return answer as Detection
  }

  /** Lists the entries below a folder that are copied into a build. */
  async list(folder: string, excluded: Excluded, context: ReadContext): Promise<SourceEntry[]> {
    const { parts } = await this.#call({ task: 'list', input: { folder, excluded } }, context)
    return parts as SourceEntry[]
  }

  /** Reads the Compose files of a stack. */
  async readStack(files: StackFiles, context: ReadContext): Promise<StackReading> {
    const { answer } = await this.#call({ task: 'readStack', input: files }, context)
    return answer as StackReading
  }

  /** Starts a process in advance, for a folder that will be read soon. */
  warm(): void {
    if (this.#idle.length === 0 && this.#queue.hasFreeSlot) this.#keepIdle(new Reader(this.#settings))
  }

  async #call(question: ReaderRequest, { organizationId, abort }: ReadContext): Promise<{ answer: unknown; parts: unknown[] }> {
    const releaseSlot = await this.#queue.acquire(organizationId, abort)
    const reader = this.#takeReader()
    const parts: unknown[] = []
    try {
      const reply = await this.#withLimits(
        reader,
        reader.request(question, (more) => void pushAll(parts, more)),
        abort,
      )
      if (reply.type === 'failed') throw toError(reply)
      return { answer: reply.type === 'done' ? reply.answer : null, parts }
    } finally {
      if (reader.isAlive) this.#keepIdle(reader)
      releaseSlot()
    }
  }

  #takeReader(): Reader {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      clearTimeout(idle.idleTimer)
      if (idle.reader.isAlive) return idle.reader
    }
    return new Reader(this.#settings)
  }

  #keepIdle(reader: Reader): void {
    const idle = { reader, idleTimer: setTimeout(() => this.#endIdle(idle), this.#settings.idleMs).unref() }
    this.#idle.push(idle)
  }

  #endIdle({ reader }: { reader: Reader }): void {
    const position = this.#idle.findIndex((one) => one.reader === reader)
    if (position >= 0) this.#idle.splice(position, 1)
    reader.end()
  }

  async #withLimits(reader: Reader, replying: Promise<Reply>, abort?: AbortSignal): Promise<Reply> {
    const { seconds, heapMb } = this.#settings
    let isTooLong = false
    const secondsBefore = reader.processorSeconds()
    const deadline = performance.now() + seconds * wallClockFactor * 1000
    const limitTimer = setInterval(() => {
      if (performance.now() < deadline && reader.processorSeconds() - secondsBefore < seconds) return
      isTooLong = true
      reader.end()
    }, pollIntervalMs)
    const onAbort = () => reader.end()
    abort?.addEventListener('abort', onAbort, { once: true })
    try {
      return await replying
    } catch (error) {
      abort?.throwIfAborted()
      if (isTooLong) throw new FolderLimitExceeded(`Reading the folder took longer than ${seconds} s`)
      if (error instanceof ReaderEnded && !(error.cause instanceof Error))
        throw new FolderLimitExceeded(`Reading the folder needs more than ${heapMb} MB of memory`)
      throw error
    } finally {
      clearInterval(limitTimer)
      abort?.removeEventListener('abort', onAbort)
    }
  }
}

/** The reader shared by the whole instance, so that its limits hold for all of it. */
export const folderReader = new FolderReader()

function pushAll(into: unknown[], items: readonly unknown[]): void {
  for (const one of items) into.push(one)
}

function toError({ name, message }: Extract<Reply, { type: 'failed' }>): Error {
  if (name === 'RootDirectoryError') return new RootDirectoryError(message)
  if (name === 'SourceFileError') return new SourceFileError(message)
  // The folder exceeded V8's stack or string length.
  if (name === 'RangeError') return new FolderLimitExceeded(`The folder is too large to be read: ${message}`)
  return new Error(`the folder could not be read: ${name}: ${message}`)
}

/**
 * The reader's entry: in the source tree its source; in a bundle `reader.js` next to the main file, above the folder of its
 * chunks.
 */
function ownEntry(): string {
  const paths = import.meta.url.endsWith('.ts') ? ['./main.ts'] : ['./reader.js', '../reader.js']
  const files = paths.map((path) => fileURLToPath(new URL(path, import.meta.url)))
  return files.find((file) => existsSync(file)) ?? files[0]!
}
