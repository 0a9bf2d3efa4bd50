import type { Instance } from '../runtime.ts'

/** Age after which a cached state is read again, although events report every change. */
const goodForMs = 5 * 60_000

/** Cache of instance states while events are followed. Every event about an instance invalidates its entry. */
export class KnownInstances {
  readonly #known = new Map<string, { instance: Instance; at: number }>()
  /** Reads that are under way. An event meanwhile marks the result as outdated. */
  readonly #looking = new Map<string, { isOutdated: boolean }>()
  #isFollowing = false

  /** Set when the event stream opens or breaks. Clears the cache. */
  set isFollowing(isFollowing: boolean) {
    this.#isFollowing = isFollowing
    this.#known.clear()
    for (const look of this.#looking.values()) look.isOutdated = true
  }

  forget(instanceId: string): void {
    this.#known.delete(instanceId)
    const look = this.#looking.get(instanceId)
    if (look) look.isOutdated = true
  }

  async find(instanceId: string, ask: () => Promise<Instance | undefined>): Promise<Instance | undefined> {
    const known = this.#known.get(instanceId)
    if (known && performance.now() - known.at < goodForMs) return known.instance
    const look = { isOutdated: false }
    this.#looking.set(instanceId, look)
    try {
      const instance = await ask()
      if (instance && this.#isFollowing && !look.isOutdated) this.#known.set(instanceId, { instance, at: performance.now() })
      return instance
    } finally {
      if (this.#looking.get(instanceId) === look) this.#looking.delete(instanceId)
    }
  }
}
