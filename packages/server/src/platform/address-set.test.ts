import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { describe, expect, test } from 'vitest'
import { clientAddress, peerAddress } from '../edge-proxy/limits/client-address.ts'
import { AddressSet, addressKey, clientKey, plainAddress } from './address-set.ts'

const setOf = (...entries: string[]) => {
  const set = new AddressSet()
  for (const entry of entries) expect(set.add(entry)).toBe(true)
  return set
}
const has = (set: AddressSet, address: string) => set.has(addressKey(address)!)

describe('an address set', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7', true],
    ['192.0.2.7', '192.0.2.8', false],
    ['192.0.2.0/25', '192.0.2.127', true],
    ['192.0.2.0/25', '192.0.2.128', false],
    ['10.0.0.0/8', '::ffff:10.9.9.9', true],
    ['::ffff:10.0.0.1', '10.0.0.1', true],
    ['::ffff:10.0.0.0/104', '10.1.1.1', true],
    ['2001:db8::/33', '2001:db8:7fff::1', true],
    ['2001:db8::/33', '2001:db8:8000::1', false],
    ['2001:DB8::1', '2001:db8:0:0:0:0:0:1', true],
    ['0.0.0.0/0', '203.0.113.9', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '203.0.113.9', true],
  ])('%s and %s: %s', (entry, address, expected) => {
    expect(has(setOf(entry), address)).toBe(expected)
  })

  test('refuses entries that are neither an IP address nor a CIDR range', () => {
    const set = new AddressSet()
    for (const entry of [
      '',
      'x',
      '300.1.1.1',
      '10.0.0.0/33',
      '2001:db8::/129',
      '10.0.0.0/',
      '10.0.0.0/-1',
      '010.1.1.1/8x',
      '10.1',
    ])
      expect(set.add(entry), entry).toBe(false)
  })

  test('an IPv6 client is identified by its /64, an IPv4 client by its address', () => {
    const key = (address: string) => clientKey(addressKey(address)!)
    expect(key('2001:db8::1')).toBe(key('2001:db8::ffff'))
    expect(key('2001:db8:0:1::1')).not.toBe(key('2001:db8::1'))
    expect(key('10.0.0.1')).not.toBe(key('10.0.0.2'))
    expect(plainAddress('::ffff:10.0.0.1')).toBe('10.0.0.1')
    expect(plainAddress('::1')).toBe('::1')
  })
})

describe('the address of a client', () => {
  const trusted = setOf('10.0.0.0/8')
  const from = (peer: string, forwarded: string) => clientAddress(peerAddress(peer), forwarded, trusted).text

  test('is that of the peer unless the peer is a trusted proxy', () => {
    expect(from('203.0.113.5', '198.51.100.1')).toBe('203.0.113.5')
    expect(from('::ffff:10.0.0.1', '198.51.100.1')).toBe('198.51.100.1')
  })

  test('is the last one that is not a trusted proxy, since earlier ones may be forged', () => {
    expect(from('10.0.0.1', '1.2.3.4, 198.51.100.1, 10.0.0.2')).toBe('198.51.100.1')
    expect(from('10.0.0.1', '10.0.0.3, 10.0.0.2')).toBe('10.0.0.3')
    expect(from('10.0.0.1', '198.51.100.1:5000')).toBe('198.51.100.1')
    expect(from('10.0.0.1', '[2001:db8::1]:5000')).toBe('2001:db8::1')
    expect(from('10.0.0.1', 'fe80::1%"}')).toBe('fe80::1')
    expect(from('10.0.0.1', 'unknown, 10.0.0.2')).toBe('10.0.0.2')
  })
})

test('the key of an address does not depend on its spelling', () => {
  const group = fc.stringMatching(/^[0-9a-fA-F]{1,4}$/)
  const colons = fc.array(fc.oneof(group, fc.constant('')), { minLength: 1, maxLength: 9 }).map((groups) => groups.join(':'))
  const text = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    colons,
    fc.tuple(colons, fc.ipV4()).map((parts) => parts.join(':')),
    fc.ipV6().map((address) => `${address}%eth0`),
    fc.stringMatching(/^[0-9a-f:.]{1,12}$/),
  )
  fc.assert(
    fc.property(text, (address) => {
      const isAddress = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)
      const parsed = isAddress ? ipaddr.parse(address) : undefined
      const bytes =
        parsed?.kind() === 'ipv4' ? (parsed as ipaddr.IPv4).toIPv4MappedAddress().toByteArray() : parsed?.toByteArray()
      expect(addressKey(address)).toBe(bytes && String.fromCharCode(...bytes))
    }),
    { numRuns: 3000 },
  )
})
