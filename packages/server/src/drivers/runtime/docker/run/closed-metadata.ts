import { ask, askFor, type Engine, eventsOf } from '../engine.ts'
import type { Fence } from './fence.ts'

const bridgeName = 'com.docker.network.bridge.name'

/** Metadata addresses, closed to the engine's own bridge while BuildKit builds there. Containers that others run on it still reach them. */
export class ClosedMetadata {
  readonly #engine: Engine
  readonly #fence: Fence | null
  #builds = 0
  #watch: AbortController | undefined
  #turn: Promise<unknown> = Promise.resolve()

  constructor(engine: Engine, fence: Fence | null) {
    this.#engine = engine
    this.#fence = fence
  }

  async during<T>(build: () => Promise<T>): Promise<T> {
    // Where there is no fence, the projects themselves reach what the machine reaches, and the instance says so.
    if (!this.#fence?.state.inForce) return build()
    this.#builds += 1
    try {
      await this.#inTurn(() => this.#close())
      return await build()
    } finally {
      this.#builds -= 1
      await this.#inTurn(() => this.#open())
    }
  }

  async #close(): Promise<void> {
    const network = await askFor(() => this.#engine.getNetwork('bridge').inspect())
    const bridge = network?.Options?.[bridgeName]
    if (!bridge) return
    await this.#fence?.closeMetadata(bridge, await this.#others())
    if (this.#watch) return
    this.#watch = new AbortController()
    void this.#follow(bridge, this.#watch.signal)
  }

  /** A container that joins the bridge during a build is let through, and the address of one that left is closed. */
  async #follow(bridge: string, abort: AbortSignal): Promise<void> {
    try {
      const filters = { type: ['network'], event: ['connect', 'disconnect'] }
      for await (const _event of eventsOf(filters, this.#engine, { abort }))
        await this.#inTurn(async () => {
          if (this.#builds > 0) await this.#fence?.closeMetadata(bridge, await this.#others())
        })
    } catch {
      // The build has ended, or the engine is away and its steps with it.
    }
  }

  /** The steps of a build have addresses on the bridge too, but are no containers that the engine lists. */
  async #others(): Promise<string[]> {
    const filters = { network: ['bridge'] }
    const rows = await ask((abortSignal) => this.#engine.listContainers({ filters, abortSignal }))
    return rows.flatMap(({ NetworkSettings }) => NetworkSettings?.Networks?.bridge?.IPAddress || [])
  }

  async #open(): Promise<void> {
    if (this.#builds > 0) return
    this.#watch?.abort()
    this.#watch = undefined
    await this.#fence?.openMetadata()
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#turn.then(work)
    this.#turn = run.catch(() => undefined)
    return run
  }
}
