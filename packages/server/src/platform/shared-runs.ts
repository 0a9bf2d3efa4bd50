/**
 * Runs the work on each key one at a time. Callers during a run share the next run, so that each gets a result computed after its
 * call. A key has at most one running and one waiting run.
 */
export class SharedRuns<Result> {
  readonly #runs = new Map<string, { current: Promise<Result>; next: Promise<Result> | undefined }>()

  run(key: string, work: () => Promise<Result>): Promise<Result> {
    const existing = this.#runs.get(key)
    if (!existing) return this.#start(key, work)
    existing.next ??= existing.current.then(
      () => this.#start(key, work),
      () => this.#start(key, work),
    )
    return existing.next
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
