import { randomBytes, randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeNeeding, partOf } from '../../../../../../tests/kit/machine.ts'
import { type Engine, openEngine } from './engine.ts'
import { Labels } from './labels.ts'
import { removeEverythingOf } from './remove-everything.ts'
import { Networks } from './run/networks.ts'
import { SubnetAllocator, type SubnetAllocatorSettings } from './subnet-allocator.ts'
import { overlaps, parseSubnet, type Subnet } from './subnets.ts'

describeNeeding(['docker'], 'Networks of projects on Docker', () => {
  let engine: Engine
  const labels: Labels[] = []
  /** Room for four of the smallest, which nothing else on the machine uses. */
  const newRange = () => `198.18.${randomInt(256)}.${randomInt(4) * 64}/26`
  const networksIn = (addresses: SubnetAllocatorSettings) => {
    const mine = new Labels(randomBytes(8).toString('hex'))
    labels.push(mine)
    return new Networks(engine, mine, null, new SubnetAllocator(engine, addresses))
  }
  const part = { name: '', internal: false, aliases: [] }
  const make = (networks: Networks, name: string, containers = 3) =>
    networks.withNetworks({ name, projectId: name, environment: 'production' }, [{ ...part, containers }], async ([made]) => {
      const { IPAM } = await engine.getNetwork(made?.network ?? '').inspect()
      return IPAM?.Config?.[0]?.Subnet ?? ''
    })
  const subnet = (text: string) => parseSubnet(text) as Subnet
  const route = (device: string, text: string) =>
    [device, Buffer.from(text.split('.').map(Number)).reverse().toString('hex'), '0', '1', '0', '0', '0', 'E0FFFFFF'].join('\t')

  beforeAll(() => {
    engine = openEngine(partOf('docker'))
  })
  afterAll(async () => {
    for (const { instance } of labels) await removeEverythingOf(instance, partOf('docker'))
  })

  test('are as small as their services allow, in the configured range', async () => {
    const range = newRange()
    const networks = networksIn({ ranges: [range] })
    const [small, larger] = [await make(networks, 'small'), await make(networks, 'larger', 10)]
    expect([small, larger].map((text) => text.split('/')[1])).toEqual(['28', '27'])
    for (const text of [small, larger]) expect(overlaps(subnet(text), subnet(range))).toBe(true)
    expect(overlaps(subnet(small), subnet(larger))).toBe(false)
  })

  test('are distinct if two Berths on one engine choose at once, and a full range is an error with the remedy', async () => {
    const ranges = [newRange()]
    const berths = [networksIn({ ranges }), networksIn({ ranges })]
    const made = await Promise.all(berths.flatMap((one) => [make(one, 'first'), make(one, 'second')]))
    expect(new Set(made).size).toBe(4)
    await expect(make(berths[0]!, 'third')).rejects.toThrow(/All networks in .*BERTH_NETWORK_RANGE/)
  })

  test('do not overlap routes of the machine, also one added at the same time', async () => {
    const range = newRange()
    const [first = '', last = ''] = [0, 32].map((more) =>
      range.replace(/\d+\/26$/, (end) => String(Number.parseInt(end, 10) + more)),
    )
    const tables = [route('vpn0', first), route('other0', last)]
    const networks = networksIn({
      ranges: [range],
      readRoutes: async () => (tables.length > 1 ? tables.shift() : tables[0]) ?? '',
    })
    // The upper half is free at the first check, and used by another engine at the second, after the network was created.
    const found = subnet(await make(networks, 'only'))
    expect(overlaps(found, subnet(`${first}/27`))).toBe(true)
  })
})
