import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { Mutex } from '../../../../platform/keyed-mutex.ts'
import type { LinkNetwork, NetworkRequest } from '../../runtime.ts'
import { callEngine, callEngineOrMissing, type Engine, engineMessage, statusOf } from '../engine.ts'
import { type LabelMap, type Labels, labelIn } from '../labels.ts'
import { type NetworkSize, SubnetAllocator, SubnetTaken } from '../subnet-allocator.ts'
import { bitsFor } from '../subnets.ts'
import { bridgePrefix, type EgressFilter, internalBridgeLetter } from './egress-filter.ts'
import { MetadataBlock } from './metadata-block.ts'

/** Owner of networks: one version of an environment. Projects without services have no networks of their own and share one. */
export interface NetworkOwner {
  /** Common name of all networks of the version. */
  name: string
  projectId: string
  environment: string
}

/** A network of a version. */
export interface NetworkSpec {
  /** '' if it is the only one. */
  name: string
  internal: boolean
  aliases: readonly string[]
  /** Number of containers created on it. As many again may be guests. */
  containers?: number | undefined
}

/** Networks of a request. Those with a route to the outside come first, because the engine publishes the port on the first. */
export const networkSpecsOf = ({ parts, aliases, services }: NetworkRequest): NetworkSpec[] =>
  parts
    ?.map((part) => ({ ...part, containers: part.services }))
    .toSorted((left, right) => Number(left.internal) - Number(right.internal)) ?? [
    { name: '', internal: false, aliases, containers: services },
  ]

export interface JoinedNetwork {
  /** Docker's name of the network. */
  network: string
  aliases: readonly string[]
}

const sharedNetworkPart: NetworkSpec = { name: '', internal: false, aliases: [] }
const idleMs = 5_000
/** Number of containers to plan for if the request does not say. */
const defaultContainers = 6
/** Size of the shared network. A Linux bridge has a thousand ports; with fewer free addresses, fewer projects fit. */
const sharedNetworkSize: NetworkSize = { bits: [22, 23, 24, 25, 26], from: 'start' }
const smallestPrefixBits = 28
const ownNetworkSize = (containers: number): NetworkSize => ({
  bits: [Math.min(smallestPrefixBits, bitsFor(containers))],
  from: 'end',
})
/** A link's network outlives versions: space for the replicas of two versions, and for previews, that come later. */
const linkNetworkSize = (containers: number): NetworkSize => {
  const smallest = ownNetworkSize(containers)
  return { ...smallest, bits: [Math.min(linkPrefixBits, ...smallest.bits), ...smallest.bits] }
}
const linkPrefixBits = 26
const bridgeName = 'com.docker.network.bridge.name'

const namePrefix = 'berth-'

/** Whether a Berth created the network. By name, because events contain nothing else. */
export const isOwnNetwork = (name: string): boolean => name.startsWith(namePrefix)

/**
 * Networks of this Berth. A version is the services of one deployment. Its networks share a name, which is a label of its
 * containers. A container that a later deployment keeps unchanged is a *guest* on the networks of that later version. The networks
 * of a version are removed with its last container, and guests are disconnected. Creating and removing are serialized, so that no
 * network is removed before its first use.
 */
export class Networks {
  readonly #engine: Engine
  readonly #labels: Labels
  readonly #egressFilter: EgressFilter | null
  readonly #subnets: SubnetAllocator
  readonly #usedBuildSlots = new Set<number>()
  #metadataBlock: MetadataBlock | undefined
  readonly #mutex = new Mutex()

  constructor(engine: Engine, labels: Labels, egressFilter: EgressFilter | null = null, subnets = new SubnetAllocator(engine)) {
    this.#engine = engine
    this.#labels = labels
    this.#egressFilter = egressFilter
    this.#subnets = subnets
  }

  /** Bridges from before Berth named them, and on request the engine's own bridge, where BuildKit builds. */
  async unnamedBridges(withEngineOwn: boolean): Promise<string[]> {
    const filters = { label: this.#labels.filter('network').label }
    const all = await callEngine((abortSignal) => this.#engine.listNetworks({ filters, abortSignal }))
    const unnamed = all.flatMap(({ Id, Options }) => (Options?.[bridgeName] ? [] : [`br-${Id.slice(0, 12)}`]))
    const engineBridge = withEngineOwn ? await callEngineOrMissing(() => this.#engine.getNetwork('bridge').inspect()) : undefined
    return [...unnamed, ...(engineBridge?.Options?.[bridgeName] ? [engineBridge.Options[bridgeName]] : [])]
  }

  /**
   * Provides a network for the steps of one Dockerfile build alone, because they may send any protocol on their bridge. It is
   * kept for a moment for the next build, because creating a network is slow.
   */
  async withBuildNetwork<T>(use: (network: string) => Promise<T>): Promise<T> {
    let slot = 0
    while (this.#usedBuildSlots.has(slot)) slot += 1
    this.#usedBuildSlots.add(slot)
    const network = this.#nameOf(`build/${slot}`)
    try {
      await this.#mutex.run(async () => {
        if (await callEngineOrMissing(() => this.#engine.getNetwork(network).inspect())) return
        await this.#create(network, {}, this.#labels.of('build', { network: `build/${slot}` }), ownNetworkSize(1))
      })
      return await use(network)
    } finally {
      this.#usedBuildSlots.delete(slot)
      setTimeout(() => void this.#removeIdle(slot, network), idleMs).unref()
    }
  }

  /**
   * BuildKit's steps run on the engine's own bridge, beside other containers. During a build, only those containers can reach
   * metadata addresses from it.
   */
  async withoutMetadataAccess<T>(build: () => Promise<T>): Promise<T> {
    this.#metadataBlock ??= new MetadataBlock(this.#engine, this.#egressFilter)
    return this.#metadataBlock.whileBlocked(build)
  }

  /** Removes an unused build network. On failure the next build or start removes it. */
  async #removeIdle(slot: number, network: string): Promise<void> {
    await this.#mutex
      .run(async () => {
        if (!this.#usedBuildSlots.has(slot))
          await callEngine((abortSignal) => this.#engine.getNetwork(network).remove({ abortSignal }))
      })
      .catch(() => undefined)
  }

  /** Runs `use` while the networks exist, in the order of the parts. */
  withNetworks<T>(
    owner: NetworkOwner | null,
    parts: readonly NetworkSpec[],
    use: (networks: JoinedNetwork[]) => Promise<T>,
  ): Promise<T> {
    return this.#mutex.run(async () => {
      const joined: JoinedNetwork[] = []
      for (const part of owner ? parts : [sharedNetworkPart]) {
        const network = this.#nameOf(owner?.name ?? null, part.name)
        await this.#ensure(network, owner, part)
        joined.push({ network, aliases: part.aliases })
      }
      return use(joined)
    })
  }

  /** Connects a container to the networks under its aliases. */
  join(container: string, owner: NetworkOwner, parts: readonly NetworkSpec[]): Promise<void> {
    return this.withNetworks(owner, parts, (joined) => this.connectAll(container, joined))
  }

  /** Same as `join`, but skips networks that do not exist. */
  joinAsGuest(container: string, name: string, parts: readonly NetworkSpec[]): Promise<void> {
    return this.#mutex.run(async () => {
      for (const part of parts)
        await this.#connect(container, this.#nameOf(name, part.name), part.aliases).catch((error: unknown) => {
          if (statusOf(error) !== 404) throw error
        })
    })
  }

  /** Connects to all networks. Only valid inside `use`. */
  async connectAll(container: string, joined: readonly JoinedNetwork[]): Promise<void> {
    for (const { network, aliases } of joined) await this.#connect(container, network, aliases)
  }

  /** Connects a container to the networks of links. */
  joinLinks(container: string, links: readonly LinkNetwork[]): Promise<void> {
    return links.length === 0 ? Promise.resolve() : this.#mutex.run(() => this.connectLinks(container, links))
  }

  /** Same as `joinLinks`. Only valid inside `use`. */
  async connectLinks(container: string, links: readonly LinkNetwork[]): Promise<void> {
    for (const { name, aliases, containers = defaultContainers } of links) {
      const network = this.#nameOf(name)
      if (!(await callEngineOrMissing(() => this.#engine.getNetwork(network).inspect())))
        await this.#create(network, {}, this.#labels.of('link', { network: name }), linkNetworkSize(2 * containers), true)
      await this.#connect(container, network, aliases)
    }
  }

  /** Disconnects all containers from the network of a link, and removes it. */
  removeLink(name: string): Promise<void> {
    return this.#mutex.run(async () => {
      const filters = this.#labels.filter('link', { network: name })
      for (const { Id } of await callEngine((abortSignal) => this.#engine.listNetworks({ filters, abortSignal })))
        await this.#remove(Id)
    })
  }

  /** Removes the networks of a version after its last container. The shared network stays. */
  removeUnused(name: string): Promise<void> {
    return this.#mutex.run(() => this.#removeUnused(name))
  }

  /**
   * Removes networks without containers, of one project or of all. A killed control plane left them, or the engine still had an
   * endpoint on them when the last container was removed.
   */
  removeOrphaned(project?: string): Promise<void> {
    return this.#mutex.run(async () => {
      const ownerLabels = project === undefined ? {} : { project }
      const filters = this.#labels.filter('network', ownerLabels)
      const networks = await callEngine((abortSignal) => this.#engine.listNetworks({ filters, abortSignal }))
      if (networks.length === 0) return
      const instances = this.#labels.filter('instance', ownerLabels)
      const users = await callEngine((abortSignal) => this.#engine.listContainers({ all: true, filters: instances, abortSignal }))
      const used = new Set(['', ...users.map(({ Labels: objectLabels }) => labelIn(objectLabels, 'network'))])
      for (const name of new Set(networks.map(({ Labels: objectLabels }) => labelIn(objectLabels, 'network'))))
        if (!used.has(name)) await this.#removeUnused(name)
    })
  }

  async #removeUnused(name: string): Promise<void> {
    const filters = this.#labels.filter('instance', { network: name })
    const users = await callEngine((abortSignal) => this.#engine.listContainers({ all: true, filters, abortSignal }))
    if (users.length > 0) return
    const ofVersion = this.#labels.filter('network', { network: name })
    const networks = await callEngine((abortSignal) => this.#engine.listNetworks({ filters: ofVersion, abortSignal }))
    for (const { Id } of networks) await this.#remove(Id)
  }

  async #remove(id: string): Promise<void> {
    const network = this.#engine.getNetwork(id)
    const guestFilters = { label: this.#labels.filter('instance').label, network: [id] }
    const rows = await callEngine((abortSignal) => this.#engine.listContainers({ all: true, filters: guestFilters, abortSignal }))
    try {
      for (const { Id } of rows) await callEngineOrMissing(() => network.disconnect({ Container: Id, Force: true }))
      await callEngine((abortSignal) => network.remove({ abortSignal }))
    } catch (error) {
      // A foreign container joined it, or it is already removed.
      if (statusOf(error) !== 404 && statusOf(error) !== 403) throw error
    }
  }

  async #connect(container: string, network: string, aliases: readonly string[]): Promise<void> {
    try {
      const endpoint = { Container: container, EndpointConfig: { Aliases: [...aliases] } }
      await callEngine(() => this.#engine.getNetwork(network).connect(endpoint))
    } catch (error) {
      if (!/already exists in network/i.test(engineMessage(error))) throw error
    }
  }

  /** Removes unused networks of the environment. Only one deployment of an environment runs at a time, so none of them is needed. */
  async #removeUnusedOf({ name: starting, projectId, environment }: NetworkOwner): Promise<void> {
    const filters = this.#labels.filter('network', { project: projectId, environment })
    const all = await callEngine((abortSignal) => this.#engine.listNetworks({ filters, abortSignal }))
    // Other networks of the starting version have no containers yet.
    for (const name of new Set(all.map(({ Labels: objectLabels }) => labelIn(objectLabels, 'network'))))
      if (name !== starting) await this.#removeUnused(name)
  }

  async #ensure(network: string, owner: NetworkOwner | null, { name, internal, containers }: NetworkSpec): Promise<void> {
    if (await callEngineOrMissing(() => this.#engine.getNetwork(network).inspect())) return
    if (owner) await this.#removeUnusedOf(owner)
    // Projects on the shared bridge cannot reach each other.
    const options: Record<string, string> = owner ? {} : { 'com.docker.network.bridge.enable_icc': 'false' }
    const ownerLabels = owner ? { project: owner.projectId, environment: owner.environment } : {}
    const size = owner ? ownNetworkSize(2 * (containers ?? defaultContainers)) : sharedNetworkSize
    const labels = { network: owner?.name ?? '', ...(name ? { part: name } : {}), ...ownerLabels }
    await this.#create(network, options, this.#labels.of('network', labels), size, internal)
  }

  async #create(
    network: string,
    options: Record<string, string>,
    labels: LabelMap,
    size: NetworkSize,
    internal = false,
  ): Promise<void> {
    const digest = createHash('sha256').update(network).digest('hex')
    const bridge = `${bridgePrefix(this.#labels.instance)}${`${internal ? internalBridgeLetter : ''}${digest}`.slice(0, 7)}`
    await this.#subnets.allocate(size, async (subnet) => {
      try {
        await callEngine((abortSignal) =>
          this.#engine.createNetwork({
            Name: network,
            Driver: 'bridge',
            CheckDuplicate: true,
            EnableIPv6: false,
            Internal: internal,
            Options: { ...options, [bridgeName]: bridge },
            Labels: labels,
            ...(subnet === null ? {} : { IPAM: { Config: [{ Subnet: subnet }] } }),
            abortSignal,
          }),
        )
      } catch (error) {
        if (statusOf(error) !== 409) throw error
        return
      }
      if (subnet === null || !(await this.#subnets.hasConflictingRoute(subnet, bridge))) return
      await callEngineOrMissing(() => this.#engine.getNetwork(network).remove())
      throw new SubnetTaken(`${subnet} was taken meanwhile`)
    })
    if (this.#egressFilter?.state.inForce && !existsSync(`/sys/class/net/${bridge}`)) this.#egressFilter.disable()
  }

  #nameOf(name: string | null, part = ''): string {
    if (name === null) return `${namePrefix}${this.#labels.instance}`
    const fullName = [this.#labels.instance, name, ...(part ? [part] : [])].join('/')
    return `${namePrefix}${createHash('sha256').update(fullName).digest('hex').slice(0, 20)}`
  }
}
