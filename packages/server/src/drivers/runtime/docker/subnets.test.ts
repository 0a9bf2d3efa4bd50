import { describe, expect, test } from 'vitest'
import { bitsFor, formatSubnet, freeSubnets, parseSubnet, routesIn, type Subnet } from './subnets.ts'

const subnet = (text: string) => parseSubnet(text) as Subnet
const free = (range: string, bits: number, taken: string[], from: 'start' | 'end' = 'end') =>
  freeSubnets(subnet(range), bits, taken.map(subnet), from).take(3).map(formatSubnet).toArray()

describe('a small network', () => {
  test('is allocated from the end of a range, a large one from its start', () => {
    expect(free('10.1.0.0/16', 28, [])).toEqual(['10.1.255.240/28', '10.1.255.224/28', '10.1.255.208/28'])
    expect(free('10.1.0.0/16', 22, [], 'start')).toEqual(['10.1.0.0/22', '10.1.4.0/22', '10.1.8.0/22'])
  })

  test('never overlaps used subnets, larger or smaller', () => {
    expect(free('10.1.0.0/24', 26, ['10.1.0.128/25', '10.1.0.3/32'])).toEqual(['10.1.0.64/26'])
    expect(free('10.1.0.0/24', 26, ['10.1.0.0/26', '10.1.0.70/32'], 'start')).toEqual(['10.1.0.128/26', '10.1.0.192/26'])
  })

  test('is found without a linear search over large used ranges', () => {
    expect(free('10.0.0.0/8', 28, ['10.0.0.0/8'])).toEqual([])
    expect(free('10.0.0.0/8', 28, ['10.0.0.0/8'], 'start')).toEqual([])
    expect(free('10.0.0.0/8', 28, ['10.128.0.0/9']).at(0)).toBe('10.127.255.240/28')
  })

  test('cannot be larger than the range', () => {
    expect(free('10.1.0.0/28', 24, [])).toEqual([])
  })

  test.each([
    [1, 30],
    [5, 29],
    [13, 28],
    [14, 27],
    [200, 24],
  ])('has room for %i containers with %i bits', (containers, bits) => {
    expect(bitsFor(containers)).toBe(bits)
  })
})

test.each(['10.0.0.0', '10.0.0.256/8', '10.0.0.0/33', 'fd00::/8', '', '10.0.0.0/8/8'])(
  '%j is not a range of addresses',
  (text) => {
    expect(parseSubnet(text)).toBeUndefined()
  },
)

test('routes of the kernel are read from its table, without the default route', () => {
  const table = [
    'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
    'eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0',
    'docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0',
    'nonsense',
  ].join('\n')
  expect(routesIn(table).map(({ device, subnet: found }) => [device, formatSubnet(found)])).toEqual([
    ['docker0', '172.17.0.0/16'],
  ])
})
