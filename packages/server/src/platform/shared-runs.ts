/**
 * Runs work on a key one at a time. Callers that come while it runs share the next run: each gets a result that was found after its call, and a key has
 * at most one run under way and one that waits.
 */
export class SharedRuns<Result> {
  readonly #runs = new Map<string, { current: Promise<Result>; next: Promise<Result> | undefined }>()

  run(key: string, work: () => Promise<Result>): Promise<Result> {
    const known = this.#runs.get(key)
    if (!known) return this.#start(key, work)
    known.next ??= known.current.then(
      () => this.#start(key, work),
      () => this.#start(key, work),
    )
    return known.next
  }

  #start(key: string, work: () => Promise<Result>): Promise<Result> {
    const run = { current: work(), next: undefined }
    this.#runs.set(key, run)
    const end = () => {
      if (this.#runs.get(key) === run && !run.next) this.#runs.delete(key)
    }
    run.current.then(end, end)
    return run.current
  }
}
