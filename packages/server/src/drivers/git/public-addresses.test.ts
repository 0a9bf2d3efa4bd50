import { expect, test } from 'vitest'
import { publicAddresses } from './public-addresses.ts'

const names: Record<string, string[]> = {
  'git.example': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'inside.example': ['93.184.215.14', '10.0.0.7'],
  'nothing.example': [],
}
const permitted = publicAddresses(async (name) => names[name] ?? [])

test('a host is asked at its public addresses', async () => {
  expect(await permitted('git.example')).toEqual(names['git.example'])
  expect(await permitted('93.184.215.14')).toEqual(['93.184.215.14'])
})

test.each(['inside.example', 'nothing.example', '127.0.0.1', '::1', '169.254.169.254', '10.1.2.3'])(
  'refused: %s',
  async (host) => {
    await expect(permitted(host)).rejects.toThrow(/no public network/)
  },
)
