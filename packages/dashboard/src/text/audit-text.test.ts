import { type AnyRoute, contract } from '@berth/contract'
import { expect, test } from 'vitest'
import { auditChoices, auditText, hasAuditText } from './audit-text.ts'

const nameOf = (id: string) => ({ prj_1: 'shop' })[id]
const entry = (action: string, changes = {}, objectId: string | null = 'prj_1') => ({ action, changes, objectId })

test('every write of the API has a sentence in the audit log', () => {
  const rows = Object.values(contract).flatMap((module) => Object.values(module) as AnyRoute[])
  const writes = rows.filter(({ method }) => method !== 'GET').map(({ at }) => at)
  expect(writes.length).toBeGreaterThan(80)
  expect(writes.filter((at) => !hasAuditText(at))).toEqual([])
})

test.each([
  [entry('POST /deployments/build/access', { projectId: 'prj_1' }, 'dep_1'), 'deployed shop'],
  [entry('POST /projects', { name: 'Blog' }), 'created the project Blog'],
  [entry('PATCH /projects/:id', { healthCheck: {}, port: 1 }), 'changed health check, port of shop'],
  [entry('DELETE /projects/:id', {}, 'prj_gone'), 'deleted prj_gone'],
  [
    entry('PATCH /projects/:id/env', { upserts: [{ key: 'A', value: '[secret]' }, { key: 'B' }], deletes: ['C'] }),
    'changed variables of shop: set A, B, removed C',
  ],
  [
    entry('PATCH /projects/:id/env', { deletes: ['A', 'B', 'C', 'D', 'E'] }),
    'changed variables of shop: removed A, B, C, D and 1 more',
  ],
  [entry('POST /invitations', { email: 'bo@example.com', role: 'viewer' }), 'invited bo@example.com as viewer'],
  [entry('POST /projects/:id/route-rules', { kind: 'ban' }, `rul_${'a'.repeat(20)}`), 'added a block rule'],
  [entry('POST /projects/:projectId/backup-policies', {}, `bkp_${'a'.repeat(20)}`), 'added a backup policy'],
  [entry('POST /projects/:id/environments', { name: 'Staging' }, `env_${'a'.repeat(20)}`), 'created the environment Staging'],
  [entry('POST /notifications/channels', { kind: 'email' }, `nch_${'a'.repeat(20)}`), 'created a notification channel (e-mail)'],
  [
    entry('PATCH /backup-policies/:policyId', { cronExpression: '' }, `bkp_${'a'.repeat(20)}`),
    'changed cron expression of a backup policy',
  ],
  [entry('POST /projects', { name: 'a'.repeat(100) }), `created the project ${'a'.repeat(79)}…`],
  [entry('DELETE /backup-policies/:policyId', {}, `bkp_${'a'.repeat(20)}`), 'deleted a backup policy'],
  [entry('POST /catalogue/:templateId', {}), 'created the project shop from a template'],
  [entry('POST /projects/:id/links', { serviceProjectId: 'prj_1' }, `lnk_${'a'.repeat(20)}`), 'linked a project to shop'],
  [entry('POST /new/route'), 'POST /new/route'],
])('an entry is shown as a sentence: %o', (one, text) => {
  expect(auditText(one, nameOf)).toBe(text)
})

test('each filter choice has a distinct label without placeholders', () => {
  const labels = auditChoices().map(({ label }) => label)
  expect(labels).toContain('changed variables of …')
  expect(labels.filter((label) => label.includes('{'))).toEqual([])
  expect(new Set(labels).size).toBe(labels.length)
})
