import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * `public`: any request may go there. `inside`: this machine or its private networks, only if the instance allows it. `never`: no
 * valid receiver (metadata services, multicast, documentation, tunnel forms).
 */
export type AddressReach = 'public' | 'inside' | 'never'

/** Classifies an address from the resolver or the URL; an unreadable one is `never`. */
export function reachOf(address: string): AddressReach {
  const ip = parseAddress(address)
  if (!ip) return 'never'
  if (metadataServices.has(ip.toNormalizedString())) return 'never'
  return ip instanceof ipaddr.IPv4 ? reachOfIPv4(ip) : reachOfIPv6(ip)
}

/** Cloud metadata services, which give a machine its credentials. */
export function isMetadataService(address: string): boolean {
  const ip = parseAddress(address)
  return ip !== null && metadataServices.has(ip.toNormalizedString())
}

/** The canonical form of an address; an IPv4 address embedded in IPv6 becomes IPv4. Null when it cannot be parsed. */
export function plainAddress(address: string): string | null {
  const ip = parseAddress(address)
  if (!(ip instanceof ipaddr.IPv6)) return ip?.toNormalizedString() ?? null
  const bytes = ip.toByteArray()
  const embedsIPv4 = ip.isIPv4MappedAddress() || ip.match(wellKnownNat64) || (ip.match(ipv4Compatible) && bytes[12] !== 0)
  return embedsIPv4 ? bytes.slice(12).join('.') : ip.toNormalizedString()
}

function parseAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  if (isIPv4(address)) return ipaddr.IPv4.parse(address)
  // The URL parser writes `::127.0.0.1` in hexadecimal; the library mistakes the other form for `::ffff:127.0.0.1`.
  const plain = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1)
  return plain ? ipaddr.IPv6.parse(plain) : null
}

/** Metadata services, which return the machine's credentials: the setting that allows private networks does not allow these. */
const metadataServices = new Set(
  [
    '169.254.169.254', // most clouds
    '169.254.170.2', // task credentials of AWS
    '169.254.170.23', // pod credentials of AWS
    '169.254.0.23', // Tencent
    '100.100.100.200', // Alibaba
    '168.63.129.16', // Azure; a public address that never leaves the host
    'fd00:ec2::254', // AWS
    'fd00:ec2::23', // pod credentials of AWS
    'fd20:ce::254', // Google
    'fe80::a9fe:a9fe', // OpenStack
  ].map((address) => ipaddr.parse(address).toNormalizedString()),
)

const insideRanges = new Set(['loopback', 'private', 'linkLocal', 'carrierGradeNat', 'uniqueLocal'])

function reachOfIPv4(ip: ipaddr.IPv4): AddressReach {
  const range = ip.range()
  if (range === 'unicast') return 'public'
  return insideRanges.has(range) ? 'inside' : 'never'
}

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')
/** `::a.b.c.d`, including `::` and `::1`. */
const ipv4Compatible = ipaddr.IPv6.parseCIDR('::/96')
const wellKnownNat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')

function reachOfIPv6(ip: ipaddr.IPv6): AddressReach {
  const range = ip.range()
  // The library reports "unicast" for every unknown range, including `::127.0.0.1`: only 2000::/3 is public.
  if (range === 'unicast') return ip.match(globalUnicast) ? 'public' : 'never'
  // An embedded IPv4 address is never public: a gateway would unpack it after our check. It is at most `inside`.
  if (range === 'ipv4Mapped' || ip.match(wellKnownNat64)) {
    return reachOf(ip.toByteArray().slice(12).join('.')) === 'never' ? 'never' : 'inside'
  }
  return insideRanges.has(range) ? 'inside' : 'never'
}
