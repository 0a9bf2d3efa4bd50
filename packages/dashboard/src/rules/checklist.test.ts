import { expect, test } from 'vitest'
import { checklist, hasDeployed, hasWorkingDomain } from './checklist.ts'

test('the checklist stays until everything is done', () => {
  const done = { project: true, domain: true, backup: true, instance: true, member: true }
  expect(checklist(done)).toEqual([])
  const open = checklist({ ...done, backup: false })
  expect(open.filter(({ isDone }) => !isDone).map(({ id }) => id)).toEqual(['backup'])
  expect(open).toHaveLength(5)
  expect(checklist({ ...done, backup: false, instance: null })).toHaveLength(4)
  expect(checklist({ ...done, instance: null })).toEqual([])
})

test('a domain is connected on the page of a project; without a project, one is created first', () => {
  const open = { project: false, domain: false, backup: false, instance: false, member: false }
  const target = (projectId?: string) => checklist(open, projectId).find(({ id }) => id === 'domain')?.to
  expect(target()).toBe('/new')
  expect(target('prj_1')).toBe('/projects/prj_1/domains')
})

test('a project counts as deployed once a version has served, not while the first one is built or after it failed', () => {
  expect(hasDeployed([], [])).toBe(false)
  expect(hasDeployed([{ status: 'building' }], [{ status: 'building' }])).toBe(false)
  expect(hasDeployed([{ status: 'failed' }], [{ status: 'failed' }])).toBe(false)
  expect(hasDeployed([{ status: 'building' }], [{ status: 'building' }, { status: 'live' }])).toBe(true)
  expect(hasDeployed([{ status: 'sleeping' }], [])).toBe(true)
})

test('a domain counts as connected once it is the address or has a certificate', () => {
  const custom = { hostname: 'shop.example.com', url: 'http://shop.example.com', kind: 'custom', primary: true } as const
  const waiting = { ...custom, tls: 'pending', state: 'synced' } as const
  expect(hasWorkingDomain({ routes: [waiting], url: 'http://shop.localhost' })).toBe(false)
  expect(hasWorkingDomain({ routes: [waiting], url: waiting.url })).toBe(true)
  expect(hasWorkingDomain({ routes: [{ ...waiting, tls: 'active' }], url: 'http://shop.localhost' })).toBe(true)
})
