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
] as const)('a stopped project that is %s says so to visitors', (_, enabled, pauses, target) => {
  expect(edgeTable(facts(enabled, pauses)).table.hosts['shop.test']?.target).toEqual(target)
})
