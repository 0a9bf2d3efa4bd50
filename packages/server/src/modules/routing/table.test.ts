import { expect, test } from 'vitest'
import type { LiveEnvironmentRow } from '../../platform/db/tables/deployments.ts'
import { edgeTable, type TableFacts } from './table.ts'

const projectId = 'prj_1'
const facts = (enabled: 0 | 1, pauses: TableFacts['pauses']): TableFacts => ({
  version: 1,
  baseDomain: 'test',
  projects: [{ id: projectId, slug: 'shop', enabled, type: 'app', framework: null, serviceRoutes: null, webhookDomain: null }],
  live: [
    { projectId, environment: 'production', deploymentId: 'dep_1', state: 'stopped', serviceRoutes: null } as LiveEnvironmentRow,
  ],
  pauses,
  instances: [],
  domains: [],
  rules: [],
  certificates: {},
  challenges: {},
  trustedProxies: [],
  servesTls: false,
  control: null,
  dashboard: null,
  hasWildcard: false,
  assigned: new Map(),
  isAssigned: () => false,
})

test.each([
  ['disabled by its owner', 0, [], { kind: 'disabled', projectId }],
  ['disabled, and being restored', 0, [{ projectId, kind: 'restore' }], { kind: 'disabled', projectId }],
  ['being restored', 1, [{ projectId, kind: 'restore' }], { kind: 'paused', projectId, reason: 'restore' }],
  ['being moved', 1, [{ projectId, kind: 'move' }], { kind: 'paused', projectId, reason: 'move' }],
  ['enabled and not started yet', 1, [], { kind: 'paused', projectId, reason: 'start' }],
  ['enabled while another is moved', 1, [{ projectId: 'prj_2', kind: 'move' }], { kind: 'paused', projectId, reason: 'start' }],
] as const)('a stopped project that is %s has its own page for visitors', (_, enabled, pauses, target) => {
  expect(edgeTable(facts(enabled, pauses)).table.hosts['shop.test']?.target).toEqual(target)
})

test('with a wildcard certificate an environment is also served one label below the base domain, with the rules of its host', () => {
  const environment = { projectId, environment: 'pr-7', deploymentId: 'dep_2', state: 'sleeping', serviceRoutes: null }
  const before = facts(1, [])
  const known = { ...before, live: [...before.live, environment as LiveEnvironmentRow] }
  expect(Object.keys(edgeTable(known).table.hosts)).toEqual(['shop.test', 'pr-7.shop.test'])
  const pair = { cert: 'c', key: 'k' }
  const { table, aliases } = edgeTable({ ...known, servesTls: true, hasWildcard: true, certificates: { '*.test': pair } })
  expect(table.hosts['pr-7--shop.test']).toMatchObject({ rulesHostname: 'pr-7.shop.test', redirectToHttps: true })
  expect(table.hosts['pr-7.shop.test']).not.toHaveProperty('redirectToHttps')
  expect([...aliases]).toEqual([['pr-7.shop.test', 'pr-7--shop.test']])
})

test('a project whose slug equals an alias keeps the host name', () => {
  const before = facts(1, [])
  const other = { ...before.projects[0]!, id: 'prj_2', slug: 'pr-7--shop' }
  const live = ['production', 'pr-7'].map((environment) => ({ ...before.live[0]!, environment }))
  const known = { ...before, projects: [...before.projects, other], live: [...live, { ...before.live[0]!, projectId: 'prj_2' }] }
  const { table, aliases } = edgeTable({ ...known, hasWildcard: true })
  expect(table.hosts['pr-7--shop.test']?.target).toMatchObject({ projectId: 'prj_2' })
  expect(aliases.size).toBe(0)
})
