import { expect, test } from 'vitest'
import { GitUnreachable } from './git-errors.ts'
import { publicAddresses } from './public-addresses.ts'

const names: Record<string, string[]> = {
  'git.example': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'inside.example': ['93.184.215.14', '10.0.0.7'],
  'git.example.': ['93.184.215.14'],
  intranet: ['93.184.215.14'],
  'nothing.example': [],
}
const permitted = publicAddresses(async (name) => names[name] ?? [])

test('a host is contacted at its public addresses', async () => {
  expect(await permitted('git.example')).toEqual(names['git.example'])
  expect(await permitted('93.184.215.14')).toEqual(['93.184.215.14'])
})

test.each([
  'inside.example',
  'nothing.example',
  '127.0.0.1',
  '::1',
  '::ffff:127.0.0.1',
  '64:ff9b::7f00:1',
  '169.254.169.254',
  '10.1.2.3',
  'localhost',
  'localhost.',
  'x.localhost',
  'git.example.',
  'intranet',
  '2130706433',
  '0x7f.1',
  '127.1',
])('refused: %s', async (host) => {
  await expect(permitted(host)).rejects.toThrow(/not a public address/)
})

test('a failing name server is GitUnreachable', async () => {
  const failing = publicAddresses(() => Promise.reject(new Error('queryA ESERVFAIL')))
  await expect(failing('git.example')).rejects.toBeInstanceOf(GitUnreachable)
})
