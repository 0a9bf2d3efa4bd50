import { setTimeout as pause } from 'node:timers/promises'
import type { ArchiveStore } from './archive-store.ts'
import { inMemoryBytes } from './in-memory.ts'
import { StoreFailure } from './store-failure.ts'

export interface Retrying {
  attempts: number
  firstPauseMs: number
  onRetry?: (failure: StoreFailure, attempt: number) => void
}

/**
 * Retries after a transient error, with growing pauses. A get continues at its last position. A put is retried only while none
 * of its content was read, since content can be read once, or where all of it is in memory.
 */
export function withRetries(store: ArchiveStore, retrying: Retrying): ArchiveStore {
  const retry = <Result>(work: () => Promise<Result>, abort: AbortSignal, mayRetry = () => true) =>
    runWithRetries(work, abort, retrying, mayRetry)

  return {
    check: (abort) => retry(() => store.check(abort), abort),
    put(name, content, abort) {
      const tracked = trackReading(content)
      return retry(
        () => store.put(name, tracked.content, abort),
        abort,
        () => !tracked.isStarted || inMemoryBytes(content) !== undefined,
      )
    },
    get: (name, abort, { from = 0 } = {}) => getResuming(store, { name, from, abort }, retrying),
    size: (name, abort) => retry(() => store.size(name, abort), abort),
    list: (prefix, abort) => listRetrying(store, prefix, abort, retrying),
    remove: (name, abort) => retry(() => store.remove(name, abort), abort),
    removeUnfinished: (olderThan, abort) => retry(() => store.removeUnfinished(olderThan, abort), abort),
    close: () => store.close(),
  }
}

async function runWithRetries<Result>(
  work: () => Promise<Result>,
  abort: AbortSignal,
  retrying: Retrying,
  mayRetry: () => boolean,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      await pauseOrThrow(error, tries, abort, retrying, mayRetry())
    }
  }
}

async function pauseOrThrow(error: unknown, tries: number, abort: AbortSignal, retrying: Retrying, mayRetry: boolean) {
  abort.throwIfAborted()
  if (!(error instanceof StoreFailure && error.transient) || tries >= retrying.attempts || !mayRetry) throw error
  retrying.onRetry?.(error, tries)
  const longest = retrying.firstPauseMs * 3 ** (tries - 1)
  try {
    await pause(longest * (0.5 + Math.random() / 2), undefined, { signal: abort })
  } catch {
    abort.throwIfAborted()
  }
}

/** Continues at the last position. Every received chunk resets the attempts: occasional interruptions do not end a long read. */
async function* getResuming(
  store: ArchiveStore,
  { name, from, abort }: { name: string; from: number; abort: AbortSignal },
  retrying: Retrying,
): AsyncGenerator<Uint8Array> {
  let position = from
  for (let tries = 1; ; tries += 1) {
    try {
      for await (const chunk of store.get(name, abort, { from: position })) {
        position += chunk.length
        tries = 1
        yield chunk
      }
      return
    } catch (error) {
      await pauseOrThrow(error, tries, abort, retrying, true)
    }
  }
}

/** Lists from the beginning again, so names are repeated: remembering them would need unbounded memory. */
async function* listRetrying(store: ArchiveStore, prefix: string, abort: AbortSignal, retrying: Retrying) {
  for (let tries = 1; ; tries += 1) {
    try {
      yield* store.list(prefix, abort)
      return
    } catch (error) {
      await pauseOrThrow(error, tries, abort, retrying, true)
    }
  }
}

/** Wraps the content to record whether its reading has started. */
function trackReading(content: AsyncIterable<Uint8Array>) {
  const tracked = {
    isStarted: false,
    content: {
      [Symbol.asyncIterator]() {
        tracked.isStarted = true
        return content[Symbol.asyncIterator]()
      },
    } satisfies AsyncIterable<Uint8Array>,
  }
  return tracked
}
