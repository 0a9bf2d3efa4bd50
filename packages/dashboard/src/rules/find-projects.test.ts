import type { ProjectRoute } from '@berth/contract'
import { expect, test } from 'vitest'
import { addressesOf, countStatuses } from './find-projects.ts'

const route = (hostname: string, kind: ProjectRoute['kind'], primary = false): ProjectRoute => ({
  ...{ hostname, kind, primary, url: `http://${hostname}`, tls: 'none', state: 'synced' },
})
const routes = [route('shop.test', 'free'), route('admin.shop.test', 'free'), route('www.example.com', 'custom', true)]

test('a connected domain is listed with the addresses only while it is the current URL', () => {
  const free = ['http://shop.test', 'http://admin.shop.test']
  expect(addressesOf({ routes, url: 'http://shop.test' })).toEqual(free)
  expect(addressesOf({ routes, url: 'http://www.example.com' })).toEqual(['http://www.example.com', ...free])
  expect(addressesOf({ routes: [], url: null })).toEqual([])
})

test('statuses are counted for the filter', () => {
  const projects = (['live', 'failed', 'live'] as const).map((status) => ({ status }))
  expect(countStatuses(projects)).toEqual([
    ['live', 2],
    ['failed', 1],
  ])
})
