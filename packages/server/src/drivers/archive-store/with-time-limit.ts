import { setTimeout as pause } from 'node:timers/promises'
import type { ArchiveStore } from './archive-store.ts'
import { inMemoryBytes } from './in-memory.ts'
import { StoreFailure } from './store-failure.ts'

/** Longest wait for the end of an aborted put. A destination that does not respond would never end it. */
const settleMs = 5_000

/** Bytes that must be transferred within the time limit. A slower destination would occupy a slot for hours. */
const minBytes = 64 * 1024

/**
 * Ends a call whose destination makes no progress for that long: less than 64 KB transferred, and no response. Time spent
 * waiting for the content (a slow dump) does not count.
 */
export function withTimeLimit(store: ArchiveStore, silentMs: number): ArchiveStore {
  const within = async <Result>(abort: AbortSignal, work: (watch: ProgressWatch) => Promise<Result>): Promise<Result> => {
    const watch = new ProgressWatch(silentMs, abort)
    try {
      return await Promise.race([work(watch), watch.ended])
    } finally {
      watch.end()
    }
  }
  // A caller that gives up removes the object next: a put that is still running would restore it.
  const put: ArchiveStore['put'] = async (name, content, abort) => {
    let putting: Promise<unknown> | undefined
    try {
      return await within(abort, (watch) => {
        const result = store.put(name, watch.watchContent(content), watch.signal)
        putting = result
        return result
      })
    } catch (error) {
      await Promise.race([putting?.catch(() => undefined), pause(Math.min(silentMs, settleMs), undefined, { ref: false })])
      throw error
    }
  }

  return {
    check: (abort) => within(abort, ({ signal }) => store.check(signal)),
    put,
    get: (name, abort, options) => watchedReads(abort, silentMs, (signal) => store.get(name, signal, options)),
    size: (name, abort) => within(abort, ({ signal }) => store.size(name, signal)),
    list: (prefix, abort) => watchedReads(abort, silentMs, (signal) => store.list(prefix, signal)),
    remove: (name, abort) => within(abort, ({ signal }) => store.remove(name, signal)),
    removeUnfinished: (olderThan, abort) => within(abort, ({ signal }) => store.removeUnfinished(olderThan, signal)),
    close: () => store.close(),
  }
}

class ProgressWatch {
  readonly #silentMs: number
  readonly #abort: AbortSignal
  readonly #controller = new AbortController()
  readonly #ended = Promise.withResolvers<never>()
  #timer: NodeJS.Timeout | undefined
  #waitingSince: number | undefined
  #remainingMs: number
  #transferredBytes = 0

  constructor(silentMs: number, abort: AbortSignal) {
    this.#silentMs = silentMs
    this.#remainingMs = silentMs
    this.#abort = abort
    this.#ended.promise.catch(() => undefined)
    if (abort.aborted) this.#stop()
    else abort.addEventListener('abort', this.#stop, { once: true })
    this.startTimer()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Rejects when the time is over or the caller aborts, also where the destination ignores the signal. */
  get ended(): Promise<never> {
    return this.#ended.promise
  }

  /** Counts time until `pauseTimer`, and ends the call when none remains. */
  startTimer(): void {
    this.pauseTimer()
    this.#waitingSince = performance.now()
    this.#timer = setTimeout(() => {
      const seconds = Math.round(this.#silentMs / 1000)
      this.#fail(
        new StoreFailure(
          'timeout',
          `The destination made no progress for ${seconds} seconds. Check whether it is overloaded or unreachable.`,
        ),
      )
    }, this.#remainingMs)
  }

  pauseTimer(): void {
    clearTimeout(this.#timer)
    if (this.#waitingSince !== undefined)
      this.#remainingMs = Math.max(0, this.#remainingMs - (performance.now() - this.#waitingSince))
    this.#waitingSince = undefined
  }

  /** Restarts the time limit once enough bytes were transferred. */
  addTransferred(bytes: number): void {
    this.#transferredBytes += bytes
    if (this.#transferredBytes < minBytes) return
    this.#transferredBytes = 0
    this.#remainingMs = this.#silentMs
  }

  end(): void {
    this.pauseTimer()
    this.#abort.removeEventListener('abort', this.#stop)
  }

  /** Content in memory is passed on unchanged: no time is spent waiting for it. */
  watchContent(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    return inMemoryBytes(content) ? content : this.#timed(content)
  }

  async *#timed(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    this.pauseTimer()
    for await (const chunk of content) {
      this.startTimer()
      yield chunk
      this.pauseTimer()
      this.addTransferred(chunk.length)
    }
    this.addTransferred(minBytes)
    this.startTimer()
  }

  readonly #stop = () => this.#fail(this.#abort.reason)

  #fail(reason: unknown): void {
    this.pauseTimer()
    this.#controller.abort(reason)
    this.#ended.reject(reason)
  }
}

async function* watchedReads<Item>(
  abort: AbortSignal,
  silentMs: number,
  read: (signal: AbortSignal) => AsyncIterable<Item>,
): AsyncGenerator<Item> {
  const watch = new ProgressWatch(silentMs, abort)
  const items = read(watch.signal)[Symbol.asyncIterator]()
  try {
    while (true) {
      watch.startTimer()
      const next = await Promise.race([items.next(), watch.ended])
      watch.pauseTimer()
      if (next.done) return
      watch.addTransferred(next.value instanceof Uint8Array ? next.value.length : minBytes)
      yield next.value
    }
  } finally {
    watch.end()
    // Not awaited: a destination that does not respond never ends it.
    void items.return?.()?.catch(() => undefined)
  }
}
