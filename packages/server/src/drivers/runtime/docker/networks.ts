import { createHash } from 'node:crypto'
import { ask, askFor, type Engine, statusOf } from './engine.ts'
import type { Labels } from './labels.ts'

/** Networks of this Berth. Making and removing them takes turns, so that none is removed between its making and its first use. */
export class Networks {
  readonly #engine: Engine
  readonly #labels: Labels
  #turn: Promise<unknown> = Promise.resolve()

  constructor(engine: Engine, labels: Labels) {
    this.#engine = engine
    this.#labels = labels
  }

  /** Runs `use` with the network there. */
  use<T>(name: string | null, use: (network: string) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      const network = this.#nameOf(name)
      await this.#make(network, name)
      return use(network)
    })
  }

  /** Once its last container is gone. The one for projects that stand alone stays. */
  removeUnused(name: string): Promise<void> {
    return this.#inTurn(async () => {
      const filters = this.#labels.filter('instance', { network: name })
      const users = await ask((abortSignal) => this.#engine.listContainers({ all: true, filters, abortSignal }))
      if (users.length > 0) return
      try {
        await ask((abortSignal) => this.#engine.getNetwork(this.#nameOf(name)).remove({ abortSignal }))
      } catch (error) {
        // Somebody else joined it, or it is gone already.
        if (statusOf(error) !== 404 && statusOf(error) !== 403) throw error
      }
    })
  }

  async #make(network: string, name: string | null): Promise<void> {
    if (await askFor(() => this.#engine.getNetwork(network).inspect())) return
    // Projects that stand alone share a bridge on which they cannot reach each other.
    const options: Record<string, string> = name === null ? { 'com.docker.network.bridge.enable_icc': 'false' } : {}
    try {
      await ask((abortSignal) =>
        this.#engine.createNetwork({
          Name: network,
          Driver: 'bridge',
          CheckDuplicate: true,
          Options: options,
          Labels: this.#labels.of('network', { network: name ?? '' }),
          abortSignal,
        }),
      )
    } catch (error) {
      if (statusOf(error) !== 409) throw error
    }
  }

  #nameOf(name: string | null): string {
    if (name === null) return `berth-${this.#labels.instance}`
    return `berth-${createHash('sha256').update(`${this.#labels.instance}/${name}`).digest('hex').slice(0, 20)}`
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#turn.then(work)
    this.#turn = run.catch(() => undefined)
    return run
  }
}
