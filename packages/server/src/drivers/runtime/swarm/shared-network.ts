import { existsSync } from 'node:fs'
import { Mutex } from '../../../platform/keyed-mutex.ts'
import { callEngine, callEngineOrMissing, type Engine, statusOf } from '../docker/engine.ts'
import type { Labels } from '../docker/labels.ts'
import { bridgePrefix, type EgressFilter } from '../docker/run/egress-filter.ts'
import type { SubnetAllocator } from '../docker/subnet-allocator.ts'
import { swarmNetworkPrefix } from '../docker/swarm-network-name.ts'

/** A Linux bridge has a thousand ports. */
const size = { bits: [22, 23, 24, 25, 26], from: 'start' as const }

/**
 * The network of all services: a bridge on each node, on which projects cannot reach each other, and which publishes ports on one
 * address only. Swarm takes such settings from a network of the node with the same settings.
 */
export class SharedNetwork {
  readonly #engine: Engine
  readonly #labels: Labels
  readonly #subnets: SubnetAllocator
  readonly #egressFilter: EgressFilter | null
  readonly #mutex = new Mutex()

  constructor(engine: Engine, labels: Labels, subnets: SubnetAllocator, egressFilter: EgressFilter | null = null) {
    this.#egressFilter = egressFilter
    this.#engine = engine
    this.#labels = labels
    this.#subnets = subnets
  }

  /** Returns the network's id, after creating it if it does not exist. */
  ensure(address: string): Promise<string> {
    return this.#mutex.run(async () => (await this.#current())?.id ?? this.#createNext(0, address))
  }

  /**
   * Creates the network again under another name, unless that has been done. After a restart, an engine of version 20.10 refuses
   * tasks on such a network with "network … exists", for good.
   */
  replace(brokenId: string, address: string): Promise<string> {
    return this.#mutex.run(async () => {
      const current = await this.#current()
      if (current && current.id !== brokenId) return current.id
      return this.#createNext((current?.generation ?? 0) + 1, address)
    })
  }

  async #current(): Promise<{ id: string; generation: number } | undefined> {
    const prefix = swarmNetworkPrefix(this.#labels.instance)
    const all = await callEngine((abortSignal) => this.#engine.listNetworks({ abortSignal } as object))
    return all
      .flatMap(({ Id, Name }) =>
        Name.startsWith(prefix) ? [{ id: Id, generation: Number.parseInt(Name.slice(prefix.length), 10) }] : [],
      )
      .toSorted((left, right) => right.generation - left.generation)[0]
  }

  async #createNext(generation: number, address: string): Promise<string> {
    const settings = `berth-${this.#labels.instance}-node${generation}`
    if (!(await callEngineOrMissing(() => this.#engine.getNetwork(settings).inspect())))
      await this.#createSettings(settings, this.#bridge(generation), address)
    const Name = `${swarmNetworkPrefix(this.#labels.instance)}${generation}`
    await this.#create({ Name, Driver: 'bridge', Scope: 'swarm', ConfigFrom: { Network: settings } })
    return (await callEngine(() => this.#engine.getNetwork(Name).inspect())).Id
  }

  /** Reports that the firewall does not apply if the bridge, which the first task creates, is not on this machine. */
  async verifyFilter(): Promise<void> {
    if (!this.#egressFilter?.state.inForce) return
    const bridge = this.#bridge((await this.#current())?.generation ?? 0)
    if (!existsSync(`/sys/class/net/${bridge}`)) this.#egressFilter.disable()
  }

  /** The kernel allows 15 characters. */
  #bridge = (generation: number) => `${bridgePrefix(this.#labels.instance)}s${generation % 1_000_000}`

  #createSettings(name: string, bridge: string, address: string): Promise<void> {
    return this.#subnets.allocate(size, (subnet) =>
      this.#create({
        Name: name,
        Driver: 'bridge',
        ConfigOnly: true,
        Options: {
          'com.docker.network.bridge.enable_icc': 'false',
          'com.docker.network.bridge.host_binding_ipv4': address,
          'com.docker.network.bridge.name': bridge,
        },
        Labels: this.#labels.of('network', { network: '' }),
        ...(subnet === null ? {} : { IPAM: { Config: [{ Subnet: subnet }] } }),
      }),
    )
  }

  async #create(options: Record<string, unknown> & { Name: string }): Promise<void> {
    await callEngine((abortSignal) => this.#engine.createNetwork({ CheckDuplicate: true, ...options, abortSignal })).catch(
      (error: unknown) => {
        if (statusOf(error) !== 409) throw error
      },
    )
  }
}
