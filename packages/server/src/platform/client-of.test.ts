import { expect, test } from 'vitest'
import { bareAddress, clientOf, plainAddress } from './address-set.ts'

test('an IPv4 address equals its IPv4-mapped IPv6 form', () => {
  for (const address of ['198.51.100.7', '::ffff:198.51.100.7', '::FFFF:c633:6407', '0:0:0:0:0:ffff:198.51.100.7'])
    expect([plainAddress(address), clientOf(address)]).toEqual(['198.51.100.7', clientOf('198.51.100.7')])
  expect(clientOf('::ffff:198.51.100.8')).not.toBe(clientOf('::ffff:198.51.100.7'))
})

test('a port in the forwarded address is ignored', () => {
  for (const address of ['198.51.100.7:1', '198.51.100.7:65000', '[::ffff:198.51.100.7]:443'])
    expect([plainAddress(bareAddress(address)), clientOf(address)]).toEqual(['198.51.100.7', clientOf('198.51.100.7')])
  expect(clientOf('[2001:db8:1:2::1]:50123')).toBe(clientOf('2001:db8:1:2::2'))
})

test('an IPv6 client is its /64, in any spelling', () => {
  const client = clientOf('2001:db8:1:2::1')
  for (const address of ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:0DB8:1:2:0::9', '2001:db8:1:2::198.51.100.7'])
    expect(clientOf(address)).toBe(client)
  for (const address of ['2001:db8:1:3::1', '2001:db8:2:2::1', '::1']) expect(clientOf(address)).not.toBe(client)
  expect(clientOf('fe80::1%eth0')).toBe(clientOf('fe80::2%eth1'))
})

test('a value that is not an address is unchanged', () => {
  for (const text of ['', 'unknown', 'a:b']) expect([plainAddress(text), clientOf(text)]).toEqual([text, text])
})
