import type { Instance } from '../runtime.ts'

/** The engine tells of every change; a look that is older than this is taken anew all the same. */
const goodForMs = 5 * 60_000

/** What the engine said of instances last, while its events are followed: each one that speaks of an instance makes it unknown. */
export class KnownInstances {
  readonly #known = new Map<string, { instance: Instance; at: number }>()
  /** How often something happened to one while it was being looked at. */
  readonly #looking = new Map<string, { isOutdated: boolean }>()
  #isFollowing = false

  /** Events come from now on, or no longer. */
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
