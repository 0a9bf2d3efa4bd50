import type { Instance } from '../runtime.ts'

/** Age after which a cached state is read again, although events report every change. */
const maxAgeMs = 5 * 60_000

/** Cache of instance states while events are followed. Every event about an instance invalidates its entry. */
export class KnownInstances {
  readonly #known = new Map<string, { instance: Instance; at: number }>()
  /** Reads in progress. An event meanwhile marks the result as outdated. */
  readonly #pendingReads = new Map<string, { isOutdated: boolean }>()
  #isFollowing = false

  /** Set when the event stream opens or breaks. Clears the cache. */
  set isFollowing(isFollowing: boolean) {
    this.#isFollowing = isFollowing
    this.#known.clear()
    for (const pending of this.#pendingReads.values()) pending.isOutdated = true
  }

  forget(instanceId: string): void {
    this.#known.delete(instanceId)
    const pending = this.#pendingReads.get(instanceId)
    if (pending) pending.isOutdated = true
  }

  async find(instanceId: string, readInstance: () => Promise<Instance | undefined>): Promise<Instance | undefined> {
    const known = this.#known.get(instanceId)
    if (known && performance.now() - known.at < maxAgeMs) return known.instance
    const pending = { isOutdated: false }
    this.#pendingReads.set(instanceId, pending)
    try {
      const instance = await readInstance()
      if (instance && this.#isFollowing && !pending.isOutdated) this.#known.set(instanceId, { instance, at: performance.now() })
      return instance
    } finally {
      if (this.#pendingReads.get(instanceId) === pending) this.#pendingReads.delete(instanceId)
    }
  }
}
