import { isIP, isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** An address as 16 bytes in a string, IPv4 as its IPv6-mapped form, so that one comparison serves every spelling. */
export type AddressKey = string

/** Undefined when the text is not an IP address. */
export function addressKey(text: string): AddressKey | undefined {
  if (isIPv4(text)) return mappedPrefix + keyOfIPv4(text)
  return isIPv6(text) ? keyOfIPv6(text) : undefined
}

/** Turns `::ffff:10.0.0.1`, in any spelling, into 10.0.0.1; returns every other text unchanged. */
export function plainAddress(address: string): string {
  // An IPv6-mapped address begins with ':' or '0'; most addresses do not.
  if (address[0] !== ':' && address[0] !== '0') return address
  // The operating system's spelling of a mapped address.
  const dotted = address.startsWith('::ffff:') ? address.slice(7) : ''
  if (ipaddr.IPv4.isValidFourPartDecimal(dotted)) return dotted
  if (!ipaddr.IPv6.isValid(address)) return address
  const parsed = ipaddr.IPv6.parse(address)
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address().toString() : address
}

/** The part of an address that identifies a client: an IPv6 client has a whole /64. */
export const clientKey = (key: AddressKey): string => (key.startsWith(mappedPrefix) ? key : key.slice(0, 8))

/**
 * `clientKey` of an address in text form, for counting; a text that is not an address is its own key. A port, which some proxies
 * append, is removed: it differs for every connection of a client.
 */
export function clientOf(address: string): string {
  const key = addressKey(bareAddress(address))
  return key === undefined ? address : clientKey(key)
}

/** True for an address or a CIDR range, which an address set accepts. */
export const isAddressEntry = (entry: string): boolean => prefixLength(entry) !== undefined

/** Prefix length in the IPv6-mapped form; undefined when the entry is not an IP address or CIDR range. */
function prefixLength(entry: string): number | undefined {
  const slash = entry.indexOf('/')
  const version = isIP(slash === -1 ? entry : entry.slice(0, slash))
  if (version === 0) return undefined
  const maxPrefix = version === 4 ? 32 : 128
  const prefixText = slash === -1 ? String(maxPrefix) : entry.slice(slash + 1)
  if (!/^\d{1,3}$/.test(prefixText) || Number(prefixText) > maxPrefix) return undefined
  return Number(prefixText) + (version === 4 ? 96 : 0)
}

/** A set of addresses and CIDR ranges. The cost of a look-up depends on the number of prefix lengths, not of entries. */
export class AddressSet {
  readonly #byLength = new Map<number, Set<string>>()

  /** False when the entry is not an IP address or CIDR range. */
  add(entry: string): boolean {
    const prefix = prefixLength(entry)
    if (prefix === undefined) return false
    const slash = entry.indexOf('/')
    const key = addressKey(slash === -1 ? entry : entry.slice(0, slash)) as AddressKey
    const keys = this.#byLength.get(prefix) ?? new Set()
    this.#byLength.set(prefix, keys.add(masked(key, prefix)))
    return true
  }

  has(key: AddressKey): boolean {
    for (const [length, keys] of this.#byLength) if (keys.has(masked(key, length))) return true
    return false
  }

  get isEmpty(): boolean {
    return this.#byLength.size === 0
  }
}

const mappedPrefix = '\0\0\0\0\0\0\0\0\0\0\xff\xff'

const keyOfIPv4 = (text: string): string => String.fromCharCode(...text.split('.').map(Number))

/** Parses without the library, which is too slow for rules with thousands of addresses. */
function keyOfIPv6(text: string): AddressKey {
  const zone = text.indexOf('%')
  const address = zone === -1 ? text : text.slice(0, zone)
  // The deprecated IPv4-compatible spelling, `::10.0.0.1`.
  if (address.startsWith('::') && isIPv4(address.slice(2))) return mappedPrefix + keyOfIPv4(address.slice(2))
  const [before = '', after] = address.split('::')
  const [head, tail] = [groupsOf(before), groupsOf(after ?? '')]
  return head + '\0'.repeat(Math.max(0, 16 - head.length - tail.length)) + tail
}

/** Groups of four digits as two bytes each; the last one may be an IPv4 address. */
function groupsOf(text: string): string {
  let bytes = ''
  for (const group of text === '' ? [] : text.split(':')) {
    if (group.includes('.')) bytes += keyOfIPv4(group)
    else {
      const number = Number.parseInt(group, 16)
      bytes += String.fromCharCode(number >> 8, number & 0xff)
    }
  }
  return bytes
}

function masked(key: AddressKey, length: number): string {
  if (length >= 128) return key
  const wholeBytes = length >> 3
  const bits = length & 7
  if (bits === 0) return key.slice(0, wholeBytes)
  return key.slice(0, wholeBytes) + String.fromCharCode(key.charCodeAt(wholeBytes) & (0xff << (8 - bits)) & 0xff)
}

/** Removes port, brackets and zone from an address. The result may still be an invalid address. */
export function bareAddress(hop: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1]
  const withPort = /^([\d.]+):\d+$/.exec(hop)?.[1]
  const address = bracketed ?? withPort ?? hop
  const zone = address.indexOf('%')
  return zone === -1 ? address : address.slice(0, zone)
}
