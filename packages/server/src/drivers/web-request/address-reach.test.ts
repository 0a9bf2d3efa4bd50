import { describe, expect, test } from 'vitest'
import { reachOf } from './address-reach.ts'

const verdict = {
  public: ['1.1.1.1', '8.8.8.8', '172.15.255.255', '172.32.0.1', '100.63.0.1', '100.128.0.1', '2606:4700::1111', '2a01:4f8::1'],
  inside: [
    ...['127.0.0.1', '127.255.255.254', '::1'], // loopback
    ...['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fd12:3456::1', 'fc00::1'], // private
    ...['169.254.1.1', 'fe80::1'], // link-local
    ...['100.64.0.1', '100.127.255.255'], // carrier-grade NAT
    ...['::ffff:127.0.0.1', '::ffff:8.8.8.8', '64:ff9b::7f00:1', '64:ff9b::808:808'], // IPv4 in disguise
  ],
  never: [
    ...['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'], // metadata
    ...['::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', '::ffff:a9fe:a9fe'], // metadata in disguise
    ...['0.0.0.0', '0.1.2.3', '::'], // unspecified
    ...['224.0.0.1', '239.255.255.255', 'ff02::1'], // multicast
    ...['255.255.255.255', '240.0.0.1'], // broadcast and reserved
    ...['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1', '198.18.0.1'], // documentation, benchmarks
    ...['2002:7f00:1::', '2002:a00:1::1', '2001:0:53aa:64c::1', '64:ff9b:1::1', '::ffff:0:127.0.0.1'], // 6to4, Teredo, translation
    ...['::127.0.0.1', '::a00:1', '4000::1', 'fec0::1', '100::1', '5f00::1'], // IPv4-compatible and unassigned
    ...['', 'localhost', '127.0.0.1.example', '1.2.3.4/8'], // not an address
  ],
} as const

describe('addresses are classified', () => {
  for (const [reach, addresses] of Object.entries(verdict)) {
    test.each(addresses)(`%s is ${reach}`, (address) => expect(reachOf(address)).toBe(reach))
  }
})
