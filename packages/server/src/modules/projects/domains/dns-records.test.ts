import { describe, expect, test } from 'vitest'
import type { ProjectsSettings } from '../deps.ts'
import { dnsRecordsFor, knownAddresses, loopbackWarning } from './dns-records.ts'

describe('the DNS records to create', () => {
  const target = 'shop.apps.example.com'
  test('a CNAME to the free host name', () => {
    expect(dnsRecordsFor('www.customer.test', { target, addresses: ['203.0.113.7'] })).toEqual([
      { type: 'CNAME', name: 'www.customer.test', value: target },
    ])
  })
  test('addresses for the apex of a zone, which cannot have a CNAME', () => {
    expect(dnsRecordsFor('customer.test', { target, addresses: ['203.0.113.7', '2001:db8::7'] })).toEqual([
      { type: 'A', name: 'customer.test', value: '203.0.113.7' },
      { type: 'AAAA', name: 'customer.test', value: '2001:db8::7' },
    ])
  })
  test('without a known address the record is a CNAME', () => {
    expect(dnsRecordsFor('customer.test', { target, addresses: [] })).toMatchObject([{ type: 'CNAME', value: target }])
  })
  test('a CNAME never names a host below localhost', () => {
    expect(dnsRecordsFor('www.customer.test', { target: 'shop.localhost', addresses: ['127.0.0.1'] })).toMatchObject([
      { type: 'A' },
    ])
  })
})

test('a record with a loopback address has a warning', () => {
  const records = (value: string) => dnsRecordsFor('customer.test', { target: 'shop.localhost', addresses: [value] })
  expect(loopbackWarning(records('127.0.0.1'))).toMatch(
    /^127\.0\.0\.1 is reachable only from this machine\. Set BERTH_PUBLIC_ADDRESS/,
  )
  expect(loopbackWarning(records('203.0.113.7'))).toBeNull()
})

describe('the known addresses of the instance', () => {
  const known = (host: string, publicUrl: string, baseDomain = 'apps.example.com') =>
    knownAddresses({ settings: { host, baseDomain } as ProjectsSettings, publicUrl: () => publicUrl })
  test('public addresses set by the operator override others', () => {
    const settings = { host: '10.0.0.5', baseDomain: 'localhost', publicAddress: ['203.0.113.7', '2001:db8::7'] }
    const found = knownAddresses({ settings: settings as unknown as ProjectsSettings, publicUrl: () => 'http://10.0.0.5' })
    expect(found).toEqual(['203.0.113.7', '2001:db8::7'])
  })
  test.each([
    ['127.0.0.1', 'http://203.0.113.7:4000', ['203.0.113.7']],
    ['203.0.113.8', 'https://berth.example.com', ['203.0.113.8']],
    ['0.0.0.0', 'http://[2001:db8::7]', ['2001:db8::7']],
    ['127.0.0.1', 'http://127.0.0.1:4000', []],
    ['::1', 'http://localhost', []],
  ])('%s and %s: %j', (host, publicUrl, addresses) => expect(known(host, publicUrl)).toEqual(addresses))
  test('a loopback address is used only if the base domain is localhost', () => {
    expect(known('127.0.0.1', 'http://127.0.0.1:4000', 'localhost')).toEqual(['127.0.0.1'])
  })
})
