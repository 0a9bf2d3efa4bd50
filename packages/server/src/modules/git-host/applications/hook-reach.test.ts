import { expect, test } from 'vitest'
import { unreachableHook } from './hook-reach.ts'

test.each([
  ['https://github.com', 'http://127.0.0.1:4000', 'is an address of this machine only'],
  ['https://github.com', 'http://berth.localhost', 'is an address of this machine only'],
  ['https://github.com', 'http://[::1]:4000', 'is an address of this machine only'],
  ['https://github.com', 'http://192.168.1.5:4000', 'is an address of a private network'],
  ['https://github.com', 'http://berth:4000', 'is an address of a private network'],
  ['https://github.com', 'https://berth.internal', 'is an address of a private network'],
  ['https://gitea.lan', 'http://127.0.0.1:4000', 'is an address of this machine only'],
])('%s cannot deliver to %s', (host, address, reason) => {
  const problem = unreachableHook('GitHub', host, `${address}/api/webhooks/git/github?hook=secret`)
  expect(problem).toContain(`${address} ${reason}. Set BERTH_PUBLIC_URL`)
  expect(problem).not.toContain('secret')
})

test.each([
  ['https://github.com', 'https://berth.example.com'],
  ['https://gitea.lan', 'http://10.0.0.7:4000'],
  ['http://127.0.0.1:3000', 'http://127.0.0.1:4000'],
  ['http://localhost:3000', 'http://10.0.0.7:4000'],
])('%s may deliver to %s', (host, address) => expect(unreachableHook('GitHub', host, address)).toBeNull())
