import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { NetworkRequest } from '../../runtime.ts'
import { ask, askFor, type Engine, statusOf, wordsOfEngine } from '../engine.ts'
import { type LabelMap, type Labels, labelIn } from '../labels.ts'
import { AddressRoom, type NetworkSize, SubnetTaken } from './address-room.ts'
import { ClosedMetadata } from './closed-metadata.ts'
import { bridgePrefix, type Fence, internalMark } from './fence.ts'
import { bitsFor } from './subnets.ts'

/** Owner of the networks; projects that stand alone have none and share one. */
export interface NetworkOwner {
  /** The networks of one version have it in common. */
  name: string
  projectId: string
  environment: string
}

/** One of the networks of a version. */
export interface NamedPart {
  /** '' for the only one. */
  name: string
  internal: boolean
  aliases: readonly string[]
  /** How many containers are made on it; as many again may be its guests. */
  containers?: number | undefined
}

/** The networks that a request asks for. Those that lead outside come first: the engine publishes the port on the first. */
export const partsOf = ({ parts, aliases, services }: NetworkRequest): NamedPart[] =>
  parts
    ?.map((part) => ({ ...part, containers: part.services }))
    .toSorted((left, right) => Number(left.internal) - Number(right.internal)) ?? [
    { name: '', internal: false, aliases, containers: services },
  ]

export interface JoinedNetwork {
  /** The engine's name of it. */
  network: string
  aliases: readonly string[]
}

const standsAlone: NamedPart = { name: '', internal: false, aliases: [] }
const idleMs = 5_000
/** Where nobody says how many there will be. */
const usualContainers = 6
/** A bridge of Linux has a thousand ports; where there is no room for as many addresses, fewer projects stand alone. */
const shared: NetworkSize = { bits: [22, 23, 24, 25, 26], from: 'start' }
const smallest = 28
const small = (containers: number): NetworkSize => ({ bits: [Math.min(smallest, bitsFor(containers))], from: 'end' })
const bridgeName = 'com.docker.network.bridge.name'

const namePrefix = 'berth-'

/** Whether a Berth made the network, by its name: events tell nothing else. */
export const isOwnNetwork = (name: string): boolean => name.startsWith(namePrefix)

/**
 * Networks of this Berth. Those of one version share a name, which the label of its containers says; on the networks of other
 * versions a container is a *guest*. The networks of a version go with the last container that was made for it, and their guests
 * leave them. Making and removing take turns, so that none is removed between its making and its first use.
 */
export class Networks {
  readonly #engine: Engine
  readonly #labels: Labels
  readonly #fence: Fence | null
  readonly #room: AddressRoom
  readonly #building = new Set<number>()
  #metadata: ClosedMetadata | undefined
  #turn: Promise<unknown> = Promise.resolve()

  constructor(engine: Engine, labels: Labels, fence: Fence | null = null, room = new AddressRoom(engine)) {
    this.#engine = engine
    this.#labels = labels
    this.#fence = fence
    this.#room = room
  }

  /** Bridges that were made before they had a name of ours, and on request the engine's own, where BuildKit builds. */
  async unnamedBridges(withEngineOwn: boolean): Promise<string[]> {
    const filters = { label: this.#labels.filter('network').label }
    const all = await ask((abortSignal) => this.#engine.listNetworks({ filters, abortSignal }))
    const old = all.flatMap(({ Id, Options }) => (Options?.[bridgeName] ? [] : [`br-${Id.slice(0, 12)}`]))
    const own = withEngineOwn ? await askFor(() => this.#engine.getNetwork('bridge').inspect()) : undefined
    return [...old, ...(own?.Options?.[bridgeName] ? [own.Options[bridgeName]] : [])]
  }

  /**
   * A network for the steps of one Dockerfile, which has it alone: they have the right to speak any protocol on their bridge.
   * It stays a moment for the next one, since making a network takes long.
   */
  async forBuild<T>(use: (network: string) => Promise<T>): Promise<T> {
    let slot = 0
    while (this.#building.has(slot)) slot += 1
    this.#building.add(slot)
    const network = this.#nameOf(`build/${slot}`)
    try {
      await this.#inTurn(async () => {
        if (await askFor(() => this.#engine.getNetwork(network).inspect())) return
        await this.#create(network, {}, this.#labels.of('build', { network: `build/${slot}` }), small(1))
      })
      return await use(network)
    } finally {
      this.#building.delete(slot)
      setTimeout(() => void this.#removeIdle(slot, network), idleMs).unref()
    }
  }

  /**
   * BuildKit's steps are on the engine's own bridge, beside containers of others. While one builds, that bridge leads to metadata
   * addresses only for those containers.
   */
  async forBuildKit<T>(build: () => Promise<T>): Promise<T> {
    this.#metadata ??= new ClosedMetadata(this.#engine, this.#fence)
    return this.#metadata.during(build)
  }

  /** What cannot be removed now goes after the next build, or with the next start. */
  async #removeIdle(slot: number, network: string): Promise<void> {
    await this.#inTurn(async () => {
      if (!this.#building.has(slot)) await ask((abortSignal) => this.#engine.getNetwork(network).remove({ abortSignal }))
    }).catch(() => undefined)
  }

  /** Runs `use` with the networks there, in the order of the parts. */
  use<T>(owner: NetworkOwner | null, parts: readonly NamedPart[], use: (networks: JoinedNetwork[]) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      const joined: JoinedNetwork[] = []
      for (const part of owner ? parts : [standsAlone]) {
        const network = this.#nameOf(owner?.name ?? null, part.name)
        await this.#make(network, owner, part)
        joined.push({ network, aliases: part.aliases })
      }
      return use(joined)
    })
  }

  /** Lets a container be reached by its names on the networks as well. */
  join(container: string, owner: NetworkOwner, parts: readonly NamedPart[]): Promise<void> {
    return this.use(owner, parts, (joined) => this.connectAll(container, joined))
  }

  /** As `join`, for those of the networks that are still there. */
  visit(container: string, name: string, parts: readonly NamedPart[]): Promise<void> {
    return this.#inTurn(async () => {
      for (const part of parts)
        await this.#connect(container, this.#nameOf(name, part.name), part.aliases).catch((error: unknown) => {
          if (statusOf(error) !== 404) throw error
        })
    })
  }

  /** Only while `use` holds the networks. */
  async connectAll(container: string, joined: readonly JoinedNetwork[]): Promise<void> {
    for (const { network, aliases } of joined) await this.#connect(container, network, aliases)
  }

  /** Once the last container that was made for the version is gone. The network for projects that stand alone stays. */
  removeUnused(name: string): Promise<void> {
    return this.#inTurn(() => this.#removeUnused(name))
  }

  /**
   * Removes networks that no container was made for, of one project or of all: a control plane that was killed left them, or the
   * engine still had an endpoint on them when the last container went.
   */
  removeLeft(project?: string): Promise<void> {
    return this.#inTurn(async () => {
      const whose = project === undefined ? {} : { project }
      const filters = this.#labels.filter('network', whose)
      const networks = await ask((abortSignal) => this.#engine.listNetworks({ filters, abortSignal }))
      if (networks.length === 0) return
      const instances = this.#labels.filter('instance', whose)
      const users = await ask((abortSignal) => this.#engine.listContainers({ all: true, filters: instances, abortSignal }))
      const used = new Set(['', ...users.map(({ Labels: marks }) => labelIn(marks, 'network'))])
      for (const name of new Set(networks.map(({ Labels: marks }) => labelIn(marks, 'network'))))
        if (!used.has(name)) await this.#removeUnused(name)
    })
  }

  async #removeUnused(name: string): Promise<void> {
    const filters = this.#labels.filter('instance', { network: name })
    const users = await ask((abortSignal) => this.#engine.listContainers({ all: true, filters, abortSignal }))
    if (users.length > 0) return
    const own = this.#labels.filter('network', { network: name })
    const networks = await ask((abortSignal) => this.#engine.listNetworks({ filters: own, abortSignal }))
    for (const { Id } of networks) await this.#remove(Id)
  }

  async #remove(id: string): Promise<void> {
    const network = this.#engine.getNetwork(id)
    const guests = { label: this.#labels.filter('instance').label, network: [id] }
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
  async #tidy({ name: starting, projectId, environment }: NetworkOwner): Promise<void> {
    const filters = this.#labels.filter('network', { project: projectId, environment })
    const all = await ask((abortSignal) => this.#engine.listNetworks({ filters, abortSignal }))
    // The other networks of the version that is being started have no container yet.
    for (const name of new Set(all.map(({ Labels: marks }) => labelIn(marks, 'network'))))
      if (name !== starting) await this.#removeUnused(name)
  }

  async #make(network: string, owner: NetworkOwner | null, { name, internal, containers }: NamedPart): Promise<void> {
    if (await askFor(() => this.#engine.getNetwork(network).inspect())) return
    if (owner) await this.#tidy(owner)
    // Projects that stand alone share a bridge on which they cannot reach each other.
    const options: Record<string, string> = owner ? {} : { 'com.docker.network.bridge.enable_icc': 'false' }
    const whose = owner ? { project: owner.projectId, environment: owner.environment } : {}
    const size = owner ? small(2 * (containers ?? usualContainers)) : shared
    const labels = { network: owner?.name ?? '', ...(name ? { part: name } : {}), ...whose }
    await this.#create(network, options, this.#labels.of('network', labels), size, internal)
  }

  async #create(
    network: string,
    options: Record<string, string>,
    marks: LabelMap,
    size: NetworkSize,
    internal = false,
  ): Promise<void> {
    const digest = createHash('sha256').update(network).digest('hex')
    const bridge = `${bridgePrefix(this.#labels.instance)}${`${internal ? internalMark : ''}${digest}`.slice(0, 7)}`
    await this.#room.place(size, async (subnet) => {
      try {
        await ask((abortSignal) =>
          this.#engine.createNetwork({
            Name: network,
            Driver: 'bridge',
            CheckDuplicate: true,
            EnableIPv6: false,
            Internal: internal,
            Options: { ...options, [bridgeName]: bridge },
            Labels: marks,
            ...(subnet === null ? {} : { IPAM: { Config: [{ Subnet: subnet }] } }),
            abortSignal,
          }),
        )
      } catch (error) {
        if (statusOf(error) !== 409) throw error
        return
      }
      if (subnet === null || !(await this.#room.isDisputed(subnet, bridge))) return
      await askFor(() => this.#engine.getNetwork(network).remove())
      throw new SubnetTaken(`${subnet} was taken meanwhile`)
    })
    if (this.#fence?.state.inForce && !existsSync(`/sys/class/net/${bridge}`))
      this.#fence.deny('The Docker engine has its networks on another machine: projects reach what that machine reaches')
  }

  #nameOf(name: string | null, part = ''): string {
    if (name === null) return `${namePrefix}${this.#labels.instance}`
    const whole = [this.#labels.instance, name, ...(part ? [part] : [])].join('/')
    return `${namePrefix}${createHash('sha256').update(whole).digest('hex').slice(0, 20)}`
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#turn.then(work)
    this.#turn = run.catch(() => undefined)
    return run
  }
}
