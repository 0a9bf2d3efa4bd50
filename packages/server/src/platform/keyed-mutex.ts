/** Work on one key waits for the earlier work on it; work on different keys does not. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  /** An abort ends the waiting at once; work that has begun hears of it by its own means. */
  async run<Result>(key: string, work: () => Promise<Result>, abort?: AbortSignal): Promise<Result> {
    const earlier = this.#last.get(key)
    const given = Promise.withResolvers<void>()
    const giveUp = () => given.reject(abort?.reason)
    abort?.addEventListener('abort', giveUp, { once: true })
    if (abort?.aborted) giveUp()
    const turn = given.promise.then(work)
    const over = Promise.allSettled([earlier, turn])
    this.#last.set(key, over)
    void over.then(() => {
      if (this.#last.get(key) === over) this.#last.delete(key)
    })
    Promise.resolve(earlier).then(() => given.resolve())
    return turn.finally(() => abort?.removeEventListener('abort', giveUp))
  }
}

/** A mutex without keys: work waits for all earlier work, also for work that failed. */
export class Mutex {
  readonly #keyed = new KeyedMutex()

  run<Result>(work: () => Promise<Result>, abort?: AbortSignal): Promise<Result> {
    return this.#keyed.run('', work, abort)
  }
}
