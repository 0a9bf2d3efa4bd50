import ipaddr from 'ipaddr.js'
import { bareAddress } from '../platform/address-set.ts'

/**
 * `::ffff:10.0.0.1` is the address 10.0.0.1, however it is spelt, and so is `10.0.0.1:50123`, as some proxies write it: with
 * its port every connection would count as another client. Everything else as it came.
 */
export function plainAddress(written: string): string {
  const address = bareAddress(written)
  if (!address.includes(':') || !ipaddr.IPv6.isValid(address)) return address
  const parsed = ipaddr.IPv6.parse(address)
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address().toString() : address
}

/** What one client holds, for counting: an IPv6 client has a whole /64 to choose its addresses from. */
export function clientOf(address: string): string {
  const plain = plainAddress(address)
  if (!plain.includes(':') || !ipaddr.IPv6.isValid(plain)) return plain
  const network = ipaddr.IPv6.parse(plain).parts.slice(0, 4)
  return `${network.map((part) => part.toString(16)).join(':')}::/64`
}
