import { randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { NetworkInspectInfo } from 'dockerode'
import { callEngine, type Engine, engineMessage, isRemote } from './engine.ts'
import { formatSubnet, freeSubnets, overlaps, parseSubnet, routesIn, type Subnet } from './subnets.ts'

export interface SubnetAllocatorSettings {
  /** Ranges for networks. Null: the engine's own address pools, else ranges that are rarely used. */
  ranges?: readonly string[] | null
  /** Reads the kernel's routing table on the engine's machine. */
  readRoutes?: () => Promise<string>
}

/** Size of a network: the first of these prefix lengths that has a free subnet. */
export interface NetworkSize {
  bits: readonly number[]
  from: 'start' | 'end'
}

/** Default ranges. The first has space for four thousand small networks; the others are for machines whose own network it is. */
const defaultRanges = ['10.213.0.0/16', '172.30.0.0/16', '192.168.240.0/20']
/** Number of free subnets from which one is chosen at random, so that parallel allocations rarely collide. */
const candidateCount = 8
const maxTries = 40

/** No subnet is free. The message says what to do. */
export class NoFreeSubnet extends Error {
  override readonly name = 'NoFreeSubnet'
}

/** Another program took the subnet meanwhile. */
export class SubnetTaken extends Error {
  override readonly name = 'SubnetTaken'
}

/**
 * Allocates small subnets for networks. By default an engine gives each network a sixteenth of its pool, so that thirty
 * networks fill it. Subnets of the engine's other networks and of the machine's routes are never used. If another program
 * takes a subnet first, the next one is tried.
 */
export class SubnetAllocator {
  readonly #engine: Engine
  readonly #settings: SubnetAllocatorSettings
  #pools: Promise<Subnet[]> | undefined

  constructor(engine: Engine, settings: SubnetAllocatorSettings = {}) {
    this.#engine = engine
    this.#settings = settings
  }

  /** Calls `create` with a free subnet, and with another if that is taken. Null leaves the choice to the engine. */
  async allocate(size: NetworkSize, create: (subnet: string | null) => Promise<void>): Promise<void> {
    const refused: Subnet[] = []
    while (refused.length < maxTries) {
      const subnet = await this.#findFree(size, refused)
      if (!subnet) break
      try {
        return await create(formatSubnet(subnet))
      } catch (error) {
        if (!(error instanceof SubnetTaken) && !/overlap/i.test(engineMessage(error))) throw error
        refused.push(subnet)
      }
    }
    const { ranges } = this.#settings
    if (ranges)
      throw new NoFreeSubnet(`All networks in ${ranges.join(', ')} are in use. Set BERTH_NETWORK_RANGE to a larger range.`)
    await create(null).catch((error: unknown) => {
      if (!/address pool/i.test(engineMessage(error))) throw error
      throw new NoFreeSubnet(`${engineMessage(error)}: set BERTH_NETWORK_RANGE to addresses that are not in use`)
    })
  }

  /** Whether another route leads to the subnet as well: another engine of the machine took it at the same time. */
  async hasConflictingRoute(text: string, device: string): Promise<boolean> {
    const subnet = parseSubnet(text)
    return (await this.#routes()).some((route) => route.device !== device && subnet && overlaps(route.subnet, subnet))
  }

  async #findFree({ bits, from }: NetworkSize, refused: readonly Subnet[]): Promise<Subnet | undefined> {
    const taken = [...refused, ...(await this.#networks()), ...(await this.#routes()).map(({ subnet }) => subnet)]
    const ranges = await this.#ranges()
    for (const length of bits)
      for (const range of ranges) {
        const free = freeSubnets(range, length, taken, from).take(candidateCount).toArray()
        if (free.length > 0) return free[randomInt(free.length)]
      }
    return undefined
  }

  async #ranges(): Promise<Subnet[]> {
    const { ranges } = this.#settings
    if (ranges) return ranges.flatMap((text) => parseSubnet(text) ?? [])
    this.#pools ??= this.#enginePools()
    const pools = await this.#pools.catch(() => {
      this.#pools = undefined
      return []
    })
    return pools.length > 0 ? pools : defaultRanges.flatMap((text) => parseSubnet(text) ?? [])
  }

  /** Address pools that the operator configured in the engine. */
  async #enginePools(): Promise<Subnet[]> {
    const { DefaultAddressPools: pools } = (await callEngine(() => this.#engine.info())) as { DefaultAddressPools?: unknown }
    return boundedList(pools).flatMap((pool) => parseSubnet(String((pool as { Base?: unknown })?.Base)) ?? [])
  }

  async #networks(): Promise<Subnet[]> {
    const networks = await callEngine((abortSignal) => this.#engine.listNetworks({ abortSignal }))
    return boundedList(networks).flatMap((network) =>
      boundedList((network as Partial<NetworkInspectInfo>)?.IPAM?.Config).flatMap(
        (config) => parseSubnet(String((config as { Subnet?: unknown })?.Subnet)) ?? [],
      ),
    )
  }

  /** Routes of the machine. Empty if they cannot be read: the engine still refuses its own subnets. */
  async #routes() {
    const { readRoutes = isRemote(this.#engine) ? async () => '' : readRoutesHere } = this.#settings
    return routesIn(await readRoutes().catch(() => '')).slice(0, maxListLength)
  }
}

/** Limit far above real machines: a server may report anything, and each entry is compared with every subnet. */
const maxListLength = 4_000
const boundedList = (list: unknown): unknown[] => (Array.isArray(list) ? list.slice(0, maxListLength) : [])

const readRoutesHere = () => readFile('/proc/net/route', 'utf8')
