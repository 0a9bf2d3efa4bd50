import { randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { NetworkInspectInfo } from 'dockerode'
import { ask, type Engine, isElsewhere, wordsOfEngine } from '../engine.ts'
import { freeSubnets, isOverlapping, readSubnet, routesIn, type Subnet, showSubnet } from './subnets.ts'

export interface AddressRoomSettings {
  /** Where networks are taken from; null: from the pools that the engine was given, else from ranges that are seldom used. */
  ranges?: readonly string[] | null
  /** The kernel's table of routes where the engine is. */
  readRoutes?: () => Promise<string>
}

/** How much of the room a network takes: the first of these lengths that there is a place for. */
export interface NetworkSize {
  bits: readonly number[]
  from: 'start' | 'end'
}

/** One is enough for four thousand small networks; the others are for machines whose own network it is. */
const seldomUsed = ['10.213.0.0/16', '172.30.0.0/16', '192.168.240.0/20']
/** Of those that are free one is taken by chance: two that choose at once seldom choose the same. */
const choices = 8
const tries = 40

/** There is no place left for a network, in words that say what to do. */
export class NoAddresses extends Error {
  override readonly name = 'NoAddresses'
}

/** The place was taken by somebody else meanwhile. */
export class SubnetTaken extends Error {
  override readonly name = 'SubnetTaken'
}

/**
 * Gives networks small places of their own. Left to itself an engine gives each one a sixteenth of what it has, so that thirty
 * fill it. What the engine's other networks and the machine's routes have is never taken; who is second asks for another place.
 */
export class AddressRoom {
  readonly #engine: Engine
  readonly #settings: AddressRoomSettings
  #pools: Promise<Subnet[]> | undefined

  constructor(engine: Engine, settings: AddressRoomSettings = {}) {
    this.#engine = engine
    this.#settings = settings
  }

  /** `create` makes the network in the place it is given, null leaving that to the engine; it is asked again while places are taken. */
  async place(size: NetworkSize, create: (subnet: string | null) => Promise<void>): Promise<void> {
    const refused: Subnet[] = []
    while (refused.length < tries) {
      const subnet = await this.#free(size, refused)
      if (!subnet) break
      try {
        return await create(showSubnet(subnet))
      } catch (error) {
        if (!(error instanceof SubnetTaken) && !/overlap/i.test(wordsOfEngine(error))) throw error
        refused.push(subnet)
      }
    }
    const { ranges } = this.#settings
    if (ranges) throw new NoAddresses(`No network is free in ${ranges.join(', ')}: set BERTH_NETWORK_RANGE to a larger range`)
    await create(null).catch((error: unknown) => {
      if (!/address pool/i.test(wordsOfEngine(error))) throw error
      throw new NoAddresses(`${wordsOfEngine(error)}: set BERTH_NETWORK_RANGE to addresses that nobody uses`)
    })
  }

  /** True where packets for the place go elsewhere too: another engine of the machine has taken it at the same time. */
  async isDisputed(text: string, device: string): Promise<boolean> {
    const subnet = readSubnet(text)
    return (await this.#routes()).some((route) => route.device !== device && subnet && isOverlapping(route.subnet, subnet))
  }

  async #free({ bits, from }: NetworkSize, refused: readonly Subnet[]): Promise<Subnet | undefined> {
    const taken = [...refused, ...(await this.#networks()), ...(await this.#routes()).map(({ subnet }) => subnet)]
    const ranges = await this.#ranges()
    for (const length of bits)
      for (const range of ranges) {
        const free = freeSubnets(range, length, taken, from).take(choices).toArray()
        if (free.length > 0) return free[randomInt(free.length)]
      }
    return undefined
  }

  async #ranges(): Promise<Subnet[]> {
    const { ranges } = this.#settings
    if (ranges) return ranges.flatMap((text) => readSubnet(text) ?? [])
    this.#pools ??= this.#enginePools()
    const pools = await this.#pools.catch(() => {
      this.#pools = undefined
      return []
    })
    return pools.length > 0 ? pools : seldomUsed.flatMap((text) => readSubnet(text) ?? [])
  }

  /** What whoever runs the engine has set apart for its networks. */
  async #enginePools(): Promise<Subnet[]> {
    const { DefaultAddressPools: pools } = (await ask(() => this.#engine.info())) as { DefaultAddressPools?: unknown }
    return listed(pools).flatMap((pool) => readSubnet(String((pool as { Base?: unknown })?.Base)) ?? [])
  }

  async #networks(): Promise<Subnet[]> {
    const networks = await ask((abortSignal) => this.#engine.listNetworks({ abortSignal }))
    return listed(networks).flatMap((network) =>
      listed((network as Partial<NetworkInspectInfo>)?.IPAM?.Config).flatMap(
        (config) => readSubnet(String((config as { Subnet?: unknown })?.Subnet)) ?? [],
      ),
    )
  }

  /** What cannot be read is not held against a place: the engine still refuses what is its own. */
  async #routes() {
    const { readRoutes = isElsewhere(this.#engine) ? async () => '' : readOwnRoutes } = this.#settings
    return routesIn(await readRoutes().catch(() => '')).slice(0, mostListed)
  }
}

/** Many times what any machine has: a server may say anything, and what it lists is compared with every place. */
const mostListed = 4_000
const listed = (list: unknown): unknown[] => (Array.isArray(list) ? list.slice(0, mostListed) : [])

const readOwnRoutes = () => readFile('/proc/net/route', 'utf8')
