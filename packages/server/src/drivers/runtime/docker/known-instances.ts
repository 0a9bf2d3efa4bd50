import type { Instance } from '../runtime.ts'

/** Age after which a cached state is read again, although events report every change. */
const goodForMs = 5 * 60_000

/** Cache of instance states while events are followed. Every event about an instance invalidates its entry. */
export class KnownInstances {
  readonly #known = new Map<string, { instance: Instance; at: number }>()
  /** Reads that are under way. An event meanwhile marks the result as outdated. */
  readonly #checking = new Map<string, { isOutdated: boolean }>()
  #isFollowing = false

  /** Set when the event stream opens or breaks. Clears the cache. */
  set isFollowing(isFollowing: boolean) {
    this.#isFollowing = isFollowing
    this.#known.clear()
    for (const check of this.#checking.values()) check.isOutdated = true
  }

  forget(instanceId: string): void {
    this.#known.delete(instanceId)
    const check = this.#checking.get(instanceId)
    if (check) check.isOutdated = true
  }

  async find(instanceId: string, callEngine: () => Promise<Instance | undefined>): Promise<Instance | undefined> {
    const known = this.#known.get(instanceId)
    if (known && performance.now() - known.at < goodForMs) return known.instance
    const check = { isOutdated: false }
    this.#checking.set(instanceId, check)
    try {
      const instance = await callEngine()
      if (instance && this.#isFollowing && !check.isOutdated) this.#known.set(instanceId, { instance, at: performance.now() })
      return instance
    } finally {
      if (this.#checking.get(instanceId) === check) this.#checking.delete(instanceId)
    }
  }
}
