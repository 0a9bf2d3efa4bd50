import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { StackFiles, StackReading } from '../../source/compose/index.ts'
import type { DetectOptions } from '../../source/detection/detect-folder.ts'
import type { Detection } from '../../source/detection/detection.ts'
import { RootDirectoryError } from '../../source/detection/root-directory-error.ts'
import { SourceFileError } from '../../source/detection/source-file-error.ts'
import type { Excluded, SourceEntry } from '../../source/list-source.ts'
import type { Question, Reply } from './messages.ts'
import { Reader, ReaderEnded } from './reader.ts'
import { ReaderQueue } from './reader-queue.ts'

/** A folder that exceeds the limits of one read; the message says which. */
export class FolderTooMuch extends Error {
  override readonly name = 'FolderTooMuch'
}

export interface FolderReaderSettings {
  /** Number of folders read concurrently; others are queued, with a queue per organisation. */
  atOnce: number
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
export interface ReadFor {
  organizationId: string
  abort?: AbortSignal | undefined
}

const patience = 3
const pollIntervalMs = 250
const standard = { atOnce: 2, maxWaiting: 50, seconds: 20, heapMb: 256, idleMs: 10_000 }

/**
 * Reads untrusted folders in separate processes with limits of time and memory: a read that exceeds them is killed with its
 * process, and no file blocks this process. A thread is not enough: V8 ends the whole process when a thread runs out of memory in
 * one step, and some of its work cannot be interrupted (docs/decisions/folder-reader.md).
 */
export class FolderReader {
  readonly #settings: FolderReaderSettings
  readonly #idle: { reader: Reader; clock: NodeJS.Timeout }[] = []
  readonly #turns: ReaderQueue

  constructor(settings: Partial<FolderReaderSettings> = {}) {
    this.#settings = { ...standard, program: process.execPath, entry: ownEntry(), ...settings }
    this.#turns = new ReaderQueue(this.#settings)
  }

  /** Sets the program of readers that start later. Tests use a bundle, which starts ten times faster than the sources. */
  useEntry(entry: string): void {
    this.#settings.entry = entry
  }

  /** Throws `RootDirectoryError`, `SourceFileError`, `FolderTooMuch`, `TooManyWaiting` and the reason of `abort`. */
  async detect(folder: string, { abort, organizationId, ...options }: DetectOptions & ReadFor): Promise<Detection> {
    const { answer } = await this.#call({ task: 'detect', asked: { folder, options } }, { abort, organizationId })
    return answer as Detection
  }

  /** All files below a folder that a build gets. */
  async list(folder: string, excluded: Excluded, readFor: ReadFor): Promise<SourceEntry[]> {
    const { parts } = await this.#call({ task: 'list', asked: { folder, leftOut: excluded } }, readFor)
    return parts as SourceEntry[]
  }

  /** Reads the Compose files of a stack. */
  async readStack(files: StackFiles, readFor: ReadFor): Promise<StackReading> {
    const { answer } = await this.#call({ task: 'readStack', asked: files }, readFor)
    return answer as StackReading
  }

  /** Starts a process in advance, for a folder that will be read soon. */
  warm(): void {
    if (this.#idle.length === 0 && this.#turns.hasRoom) this.#rest(new Reader(this.#settings))
  }

  async #call(question: Question, { organizationId, abort }: ReadFor): Promise<{ answer: unknown; parts: unknown[] }> {
    const endTurn = await this.#turns.take(organizationId, abort)
    const reader = this.#take()
    const parts: unknown[] = []
    try {
      const reply = await this.#within(
        reader,
        reader.request(question, (more) => void pushAll(parts, more)),
        abort,
      )
      if (reply.says === 'failed') throw failureOf(reply)
      return { answer: reply.says === 'done' ? reply.answer : null, parts }
    } finally {
      if (reader.isAlive) this.#rest(reader)
      endTurn()
    }
  }

  #take(): Reader {
    for (let kept = this.#idle.pop(); kept; kept = this.#idle.pop()) {
      clearTimeout(kept.clock)
      if (kept.reader.isAlive) return kept.reader
    }
    return new Reader(this.#settings)
  }

  #rest(reader: Reader): void {
    const kept = { reader, clock: setTimeout(() => this.#forget(kept), this.#settings.idleMs).unref() }
    this.#idle.push(kept)
  }

  #forget(kept: { reader: Reader }): void {
    const position = this.#idle.findIndex((one) => one.reader === kept.reader)
    if (position >= 0) this.#idle.splice(position, 1)
    kept.reader.end()
  }

  async #within(reader: Reader, requested: Promise<Reply>, abort?: AbortSignal): Promise<Reply> {
    const { seconds, heapMb } = this.#settings
    let isTooLong = false
    const before = reader.processorSeconds()
    const latest = performance.now() + seconds * patience * 1000
    const clock = setInterval(() => {
      if (performance.now() < latest && reader.processorSeconds() - before < seconds) return
      isTooLong = true
      reader.end()
    }, pollIntervalMs)
    const give = () => reader.end()
    abort?.addEventListener('abort', give, { once: true })
    try {
      return await requested
    } catch (error) {
      abort?.throwIfAborted()
      if (isTooLong) throw new FolderTooMuch(`The folder took longer than ${seconds} s to look at`)
      if (error instanceof ReaderEnded && !(error.cause instanceof Error))
        throw new FolderTooMuch(`The folder took more than ${heapMb} MB of memory to look at`)
      throw error
    } finally {
      clearInterval(clock)
      abort?.removeEventListener('abort', give)
    }
  }
}

/** The reader shared by the whole instance, so that its limits hold for all of it. */
export const folderReader = new FolderReader()

function pushAll(into: unknown[], more: readonly unknown[]): void {
  for (const one of more) into.push(one)
}

function failureOf({ name, message }: Extract<Reply, { says: 'failed' }>): Error {
  if (name === 'RootDirectoryError') return new RootDirectoryError(message)
  if (name === 'SourceFileError') return new SourceFileError(message)
  // The folder exceeded V8's stack or string length.
  if (name === 'RangeError') return new FolderTooMuch(`The folder holds more than can be looked at: ${message}`)
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
