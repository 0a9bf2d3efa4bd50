import { Value } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { ContainerSettings } from './container-shapes.ts'

const isTaken = (settings: object) => Value.Check(ContainerSettings, settings)

describe('container settings', () => {
  test.each<[string, object]>([
    ['names and limits', { user: '1000:1000', hostname: 'web', workingDir: '/srv', stopSignal: 'SIGINT', pidsLimit: 5 }],
    [
      'a name for an address',
      {
        extraHosts: [
          { name: 'db.internal', address: '10.0.0.5' },
          { name: 'six', address: 'fd00::1' },
        ],
      },
    ],
    [
      'limits within their bounds',
      {
        ulimits: [
          { name: 'nofile', soft: 1024, hard: 1_048_576 },
          { name: 'core', soft: 0, hard: 0 },
        ],
      },
    ],
    ['settings of its own network', { sysctls: { 'net.core.somaxconn': '1024' } }],
    ['nothing', { user: null, sysctls: null }],
  ])('accepts %s', (_, settings) => expect(isTaken(settings)).toBe(true))

  test.each<[string, object]>([
    ["a setting of the machine's kernel", { sysctls: { 'kernel.shmmax': '1' } }],
    ['a setting of the network that others feel', { sysctls: { 'net.ipv4.tcp_mem': '1' } }],
    ['the machine itself under a name', { extraHosts: [{ name: 'me', address: '127.0.0.1' }] }],
    ['the metadata service under a name', { extraHosts: [{ name: 'meta', address: '169.254.169.254' }] }],
    ['the machine under its other spelling', { extraHosts: [{ name: 'me', address: '::FFFF:7f00:1' }] }],
    ['more open files than are given', { ulimits: [{ name: 'nofile', soft: 1, hard: 2_000_000 }] }],
    ['dumps of memory', { ulimits: [{ name: 'core', soft: 0, hard: 1 }] }],
    ['an unknown limit', { ulimits: [{ name: 'rtprio', soft: 1, hard: 1 }] }],
    ['a folder that is no path', { tmpfs: [{ target: 'run' }] }],
    ['a user with a space', { user: 'a b' }],
  ])('refuses %s', (_, settings) => expect(isTaken(settings)).toBe(false))
})
