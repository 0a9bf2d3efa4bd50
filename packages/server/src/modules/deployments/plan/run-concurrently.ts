import type { Unit } from './deployed.ts'

/** Maximum number of units started or probed concurrently; more would only compete for the machine. */
const maxConcurrent = 8

/**
 * Runs the work for each unit concurrently, once the work for its dependencies is done. After the first failure no more work
 * starts and running work is aborted; rejects with that failure once all work has ended. Results are in the order of the units.
 */
export async function inDependencyOrder<Result>(
  units: readonly Unit[],
  abort: AbortSignal,
  work: (unit: Unit, abort: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const failure = new AbortController()
  const signal = AbortSignal.any([abort, failure.signal])
  const semaphore = new Semaphore(maxConcurrent)
  const results = new Map<string, Promise<Result>>()
  const readiness = new Map(units.map(({ service }) => [service, Promise.withResolvers<void>()]))
  for (const unit of units) {
    const run = async () => {
      // A dependency outside this list is already running.
      await Promise.all(unit.dependsOn.map((name) => readiness.get(name)?.promise))
      const result = await semaphore.run(() => {
        signal.throwIfAborted()
        return work(unit, signal)
      })
      readiness.get(unit.service)?.resolve()
      return result
    }
    const running = run()
    running.catch((error: unknown) => {
      failure.abort(error)
      readiness.get(unit.service)?.resolve()
    })
    results.set(unit.service, running)
  }
  await Promise.allSettled(results.values())
  abort.throwIfAborted()
  if (failure.signal.aborted) throw failure.signal.reason
  return Promise.all(results.values())
}

/** Runs the work for all units concurrently, like `inDependencyOrder` but without regard to dependencies. */
export const runConcurrently = <Result>(
  units: readonly Unit[],
  abort: AbortSignal,
  work: (unit: Unit, abort: AbortSignal) => Promise<Result>,
): Promise<Result[]> =>
  inDependencyOrder(
    units.map((unit) => ({ ...unit, dependsOn: [] })),
    abort,
    work,
  )

/** A first-in, first-out semaphore. */
class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free += 1
    }
  }
}
