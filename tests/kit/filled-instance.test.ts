import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { addressesOf, frontAddressesOf } from './filled-instance.ts'

const sources = join(import.meta.dirname, '..', '..', 'packages', 'dashboard', 'src')
const pathsIn = (file: string, pattern: RegExp) =>
  [...readFileSync(join(sources, file), 'utf8').matchAll(pattern)].map(([, path]) => path as string)
const ids = { projectId: 'a', deploymentId: 'a', serverId: 'a' }
const asPattern = (path: string) => path.replaceAll(/\$\w+/g, 'a')

test('every page of the dashboard has an address in the list that screenshots and accessibility checks visit', () => {
  const visited = Object.values(addressesOf(ids)).map((address) => address.split('?')[0])
  const pages = pathsIn('pages/pages.ts', /^ {2}'(\/[^']*)':/gm).map(asPattern)
  expect(pages.length).toBeGreaterThan(25)
  expect(pages.filter((page) => !visited.includes(page))).toEqual([])
  const filled = { ...ids, invitationUrl: 'http://berth.example.test/invitations/a', brokenId: 'a', longNamedId: 'a' }
  const front = Object.values(frontAddressesOf(filled)).map((address) => address.split('?')[0])
  const routes = pathsIn('router.tsx', /^ {4}path: '(\/[^']*)'/gm).map(asPattern)
  expect(routes.toSorted()).toEqual(front.toSorted())
})
