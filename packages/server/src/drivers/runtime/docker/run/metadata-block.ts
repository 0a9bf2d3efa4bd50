import { Mutex } from '../../../../platform/keyed-mutex.ts'
import { callEngine, callEngineOrMissing, type Engine, eventsOf } from '../engine.ts'
import type { EgressFilter } from './egress-filter.ts'

const bridgeName = 'com.docker.network.bridge.name'

/**
 * Blocks metadata addresses for the engine's own bridge while BuildKit builds there. Other containers on the bridge can still
 * reach them.
 */
export class MetadataBlock {
  readonly #engine: Engine
  readonly #egressFilter: EgressFilter | null
  #buildCount = 0
  #watchController: AbortController | undefined
  readonly #mutex = new Mutex()

  constructor(engine: Engine, egressFilter: EgressFilter | null) {
    this.#engine = engine
    this.#egressFilter = egressFilter
  }

  async whileBlocked<T>(build: () => Promise<T>): Promise<T> {
    // Without the firewall, projects themselves can reach these addresses, and the API reports that.
    if (!this.#egressFilter?.state.inForce) return build()
    this.#buildCount += 1
    try {
      await this.#mutex.run(() => this.#block())
      return await build()
    } finally {
      this.#buildCount -= 1
      await this.#mutex.run(() => this.#unblock())
    }
  }

  async #block(): Promise<void> {
    const network = await callEngineOrMissing(() => this.#engine.getNetwork('bridge').inspect())
    const bridge = network?.Options?.[bridgeName]
    if (!bridge) return
    await this.#egressFilter?.blockMetadata(bridge, await this.#otherAddresses())
    if (this.#watchController) return
    this.#watchController = new AbortController()
    void this.#follow(bridge, this.#watchController.signal)
  }

  /** Updates the exceptions when a container joins or leaves the bridge during a build. */
  async #follow(bridge: string, abort: AbortSignal): Promise<void> {
    try {
      const filters = { type: ['network'], event: ['connect', 'disconnect'] }
      for await (const _event of eventsOf(filters, this.#engine, { abort }))
        await this.#mutex.run(async () => {
          if (this.#buildCount > 0) await this.#egressFilter?.blockMetadata(bridge, await this.#otherAddresses())
        })
    } catch {
      // The build has ended, or the engine is unreachable.
    }
  }

  /** Addresses of containers on the bridge. Build steps have addresses too, but the engine does not list them. */
  async #otherAddresses(): Promise<string[]> {
    const filters = { network: ['bridge'] }
    const rows = await callEngine((abortSignal) => this.#engine.listContainers({ filters, abortSignal }))
    return rows.flatMap(({ NetworkSettings }) => NetworkSettings?.Networks?.bridge?.IPAddress || [])
  }

  async #unblock(): Promise<void> {
    if (this.#buildCount > 0) return
    this.#watchController?.abort()
    this.#watchController = undefined
    await this.#egressFilter?.unblockMetadata()
  }
}
