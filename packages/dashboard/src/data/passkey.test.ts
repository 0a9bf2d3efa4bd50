import { expect, test } from 'vitest'
import { isAddress } from './passkey.ts'

test.each([
  ['127.0.0.1', true],
  ['[::1]', true],
  ['localhost', false],
  ['10.example.com', false],
  ['berth.example.com', false],
])('the host name %s is an address: %s', (hostname, expected) => {
  expect(isAddress(hostname)).toBe(expected)
})
