import { Mutex } from '../../../../platform/keyed-mutex.ts'
import { callEngine, callEngineOrMissing, type Engine, eventsOf } from '../engine.ts'
import type { EgressFilter } from './egress-filter.ts'

const bridgeName = 'com.docker.network.bridge.name'

/**
 * Blocks metadata addresses for the engine's own bridge while BuildKit builds there. Other containers on the bridge can still
 * reach them.
 */
export class ClosedMetadata {
  readonly #engine: Engine
  readonly #egressFilter: EgressFilter | null
  #builds = 0
  #watch: AbortController | undefined
  readonly #mutex = new Mutex()

  constructor(engine: Engine, egressFilter: EgressFilter | null) {
    this.#engine = engine
    this.#egressFilter = egressFilter
  }

  async during<T>(build: () => Promise<T>): Promise<T> {
    // Without the firewall, projects themselves can reach these addresses, and the API reports that.
    if (!this.#egressFilter?.state.inForce) return build()
    this.#builds += 1
    try {
      await this.#mutex.run(() => this.#close())
      return await build()
    } finally {
      this.#builds -= 1
      await this.#mutex.run(() => this.#open())
    }
  }

  async #close(): Promise<void> {
    const network = await callEngineOrMissing(() => this.#engine.getNetwork('bridge').inspect())
    const bridge = network?.Options?.[bridgeName]
    if (!bridge) return
    await this.#egressFilter?.closeMetadata(bridge, await this.#others())
    if (this.#watch) return
    this.#watch = new AbortController()
    void this.#follow(bridge, this.#watch.signal)
  }

  /** Updates the exceptions when a container joins or leaves the bridge during a build. */
  async #follow(bridge: string, abort: AbortSignal): Promise<void> {
    try {
      const filters = { type: ['network'], event: ['connect', 'disconnect'] }
      for await (const _event of eventsOf(filters, this.#engine, { abort }))
        await this.#mutex.run(async () => {
          if (this.#builds > 0) await this.#egressFilter?.closeMetadata(bridge, await this.#others())
        })
    } catch {
      // The build has ended, or the engine is unreachable.
    }
  }

  /** Addresses of containers on the bridge. Build steps have addresses too, but the engine does not list them. */
  async #others(): Promise<string[]> {
    const filters = { network: ['bridge'] }
    const rows = await callEngine((abortSignal) => this.#engine.listContainers({ filters, abortSignal }))
    return rows.flatMap(({ NetworkSettings }) => NetworkSettings?.Networks?.bridge?.IPAddress || [])
  }

  async #open(): Promise<void> {
    if (this.#builds > 0) return
    this.#watch?.abort()
    this.#watch = undefined
    await this.#egressFilter?.openMetadata()
  }
}
