import { createHash } from 'node:crypto'
import { ask, askFor, type Engine, statusOf, wordsOfEngine } from './engine.ts'
import { type Labels, labelIn } from './labels.ts'

/** Whose network it is; nobody's for projects that stand alone, which share one. */
export interface NetworkOwner {
  name: string
  projectId: string
  environment: string
}

/**
 * Networks of this Berth. A container's label names the network that it was made on; on others it is a *guest*. A network
 * goes with the last container that was made on it, and its guests leave it. Making and removing take turns, so that none is
 * removed between its making and its first use.
 */
export class Networks {
  readonly #engine: Engine
  readonly #labels: Labels
  #turn: Promise<unknown> = Promise.resolve()

  constructor(engine: Engine, labels: Labels) {
    this.#engine = engine
    this.#labels = labels
  }

  /** Runs `use` with the network there. */
  use<T>(owner: NetworkOwner | null, use: (network: string) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      const network = this.#nameOf(owner?.name ?? null)
      await this.#make(network, owner)
      return use(network)
    })
  }

  /** Lets a container be reached by those names on the network as well. */
  join(container: string, owner: NetworkOwner, aliases: readonly string[]): Promise<void> {
    return this.use(owner, (network) => this.#connect(container, network, aliases))
  }

  /** As `join`, where that network still is. */
  visit(container: string, name: string, aliases: readonly string[]): Promise<void> {
    return this.#inTurn(() => this.#connect(container, this.#nameOf(name), aliases)).catch((error: unknown) => {
      if (statusOf(error) !== 404) throw error
    })
  }

  /** Once the last container that was made on it is gone. The one for projects that stand alone stays. */
  removeUnused(name: string): Promise<void> {
    return this.#inTurn(() => this.#removeUnused(name))
  }

  async #removeUnused(name: string): Promise<void> {
    const filters = this.#labels.filter('instance', { network: name })
    const users = await ask((abortSignal) => this.#engine.listContainers({ all: true, filters, abortSignal }))
    if (users.length > 0) return
    const network = this.#engine.getNetwork(this.#nameOf(name))
    const guests = { label: this.#labels.filter('instance').label, network: [this.#nameOf(name)] }
    const rows = await ask((abortSignal) => this.#engine.listContainers({ all: true, filters: guests, abortSignal }))
    try {
      for (const { Id } of rows) await askFor(() => network.disconnect({ Container: Id, Force: true }))
      await ask((abortSignal) => network.remove({ abortSignal }))
    } catch (error) {
      // Somebody else joined it, or it is gone already.
      if (statusOf(error) !== 404 && statusOf(error) !== 403) throw error
    }
  }

  async #connect(container: string, network: string, aliases: readonly string[]): Promise<void> {
    try {
      const endpoint = { Container: container, EndpointConfig: { Aliases: [...aliases] } }
      await ask(() => this.#engine.getNetwork(network).connect(endpoint))
    } catch (error) {
      if (!/already exists in network/i.test(wordsOfEngine(error))) throw error
    }
  }

  /** One deployment of an environment is made at a time: what an earlier one left is not about to be used. */
  async #tidy({ projectId, environment }: NetworkOwner): Promise<void> {
    const filters = this.#labels.filter('network', { project: projectId, environment })
    for (const { Labels: marks } of await ask((abortSignal) => this.#engine.listNetworks({ filters, abortSignal })))
      await this.#removeUnused(labelIn(marks, 'network'))
  }

  async #make(network: string, owner: NetworkOwner | null): Promise<void> {
    if (await askFor(() => this.#engine.getNetwork(network).inspect())) return
    if (owner) await this.#tidy(owner)
    // Projects that stand alone share a bridge on which they cannot reach each other.
    const options: Record<string, string> = owner ? {} : { 'com.docker.network.bridge.enable_icc': 'false' }
    const whose = owner ? { project: owner.projectId, environment: owner.environment } : {}
    try {
      await ask((abortSignal) =>
        this.#engine.createNetwork({
          Name: network,
          Driver: 'bridge',
          CheckDuplicate: true,
          Options: options,
          Labels: this.#labels.of('network', { network: owner?.name ?? '', ...whose }),
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
