/** Runs the work on each key one after another; different keys are independent. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  /** An abort ends the waiting; work that has started must observe the signal itself. */
  async run<Result>(key: string, work: () => Promise<Result>, abort?: AbortSignal): Promise<Result> {
    const previous = this.#last.get(key)
    const lock = Promise.withResolvers<void>()
    const onAbort = () => lock.reject(abort?.reason)
    abort?.addEventListener('abort', onAbort, { once: true })
    if (abort?.aborted) onAbort()
    const result = lock.promise.then(work)
    const ended = Promise.allSettled([previous, result])
    this.#last.set(key, ended)
    void ended.then(() => {
      if (this.#last.get(key) === ended) this.#last.delete(key)
    })
    Promise.resolve(previous).then(() => lock.resolve())
    return result.finally(() => abort?.removeEventListener('abort', onAbort))
  }
}

/** A mutex without keys: work waits for all earlier work, also for work that failed. */
export class Mutex {
  readonly #keyed = new KeyedMutex()

  run<Result>(work: () => Promise<Result>, abort?: AbortSignal): Promise<Result> {
    return this.#keyed.run('', work, abort)
  }
}
