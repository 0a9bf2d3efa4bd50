/** A range of IPv4 addresses: its first address as a number, and its prefix length. */
export interface Subnet {
  start: number
  bits: number
}

const sizeOf = ({ bits }: Pick<Subnet, 'bits'>) => 2 ** (32 - bits)
const endOf = (subnet: Subnet) => subnet.start + sizeOf(subnet)

/** Parses CIDR notation such as `10.0.0.0/8`, and clears the host bits. Undefined if it is invalid. */
export function parseSubnet(text: string): Subnet | undefined {
  const [, address = '', length = ''] = /^(\d{1,3}(?:\.\d{1,3}){3})\/(\d{1,2})$/.exec(text.trim()) ?? []
  const parts = address.split('.').map(Number)
  const bits = Number(length)
  if (parts.length !== 4 || parts.some((part) => part > 255) || bits > 32) return undefined
  const start = parts.reduce((sum, part) => sum * 256 + part, 0)
  return { start: start - (start % sizeOf({ bits })), bits }
}

export const formatSubnet = ({ start, bits }: Subnet): string =>
  `${[24, 16, 8, 0].map((shift) => Math.floor(start / 2 ** shift) % 256).join('.')}/${bits}`

export const overlaps = (one: Subnet, other: Subnet): boolean => one.start < endOf(other) && other.start < endOf(one)

/** Prefix length of the smallest network for so many containers, plus network address, gateway and broadcast address. */
export const bitsFor = (containers: number): number => 32 - Math.ceil(Math.log2(containers + 3))

/**
 * Free subnets of a range, in order. Small ones are allocated from its end and large ones from its start, so that they do not
 * fragment each other's space.
 */
export function* freeSubnets(range: Subnet, bits: number, taken: readonly Subnet[], from: 'start' | 'end'): Generator<Subnet> {
  if (bits < range.bits) return
  const size = sizeOf({ bits })
  const last = endOf(range) - size
  let start = from === 'start' ? range.start : last
  while (start >= range.start && start <= last) {
    const subnet = { start, bits }
    const obstacle = taken.find((one) => overlaps(one, subnet))
    if (!obstacle) yield subnet
    // Skips the whole obstacle, which may be an entire private network.
    if (from === 'start') start = obstacle ? Math.max(start + size, alignedUp(endOf(obstacle), size)) : start + size
    else start = obstacle ? Math.min(start - size, obstacle.start - (obstacle.start % size) - size) : start - size
  }
}

const alignedUp = (address: number, size: number) => Math.ceil(address / size) * size

/** Parses the routes of `/proc/net/route`, without the default route. */
export function routesIn(table: string): { device: string; subnet: Subnet }[] {
  return table.split('\n').flatMap((line) => {
    const [device = '', destination = '', , , , , , mask = ''] = line.trim().split(/\s+/)
    if (!/^[0-9A-F]{8}$/i.test(destination) || !/^[0-9A-F]{8}$/i.test(mask)) return []
    const bits = [...Number.parseInt(mask, 16).toString(2)].filter((bit) => bit === '1').length
    return bits === 0 ? [] : [{ device, subnet: { start: fromLittleEndian(destination), bits } }]
  })
}

/** Converts an address, which the kernel prints in little-endian order. */
const fromLittleEndian = (hex: string) => Buffer.from(hex, 'hex').readUInt32LE()
