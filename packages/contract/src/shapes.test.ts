import { Value } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import {
  type AnyRoute,
  CreateProject,
  categories,
  contract,
  Detection,
  ignoredScanFields,
  limits,
  projectScoped,
  table,
} from './index.ts'

test('every field of a scan is a field of a project, or ignored in its body', () => {
  const isKnown = (field: string) =>
    field in CreateProject.properties !== (ignoredScanFields as readonly string[]).includes(field)
  expect(Object.keys(Detection.properties).filter((field) => !isKnown(field))).toEqual([])
})

describe('secrets', () => {
  test('a write-only field is in no reply and no event', () => {
    const shown = table.filter(({ row }) =>
      schemasOf(row)
        .flatMap(propertiesOf)
        .some(([, schema]) => (schema as { writeOnly?: boolean }).writeOnly),
    )
    expect(shown.map(({ row }) => row.at)).toEqual([])
  })

  test('a token, key or password is shown only by the routes that mint it', () => {
    const secretName = /^(.*token|.*secret|secretAccessKey|password|.*privateKey)$/i
    const shown = table.flatMap(({ row }) =>
      schemasOf(row)
        .flatMap(propertiesOf)
        .filter(([name, schema]) => secretName.test(name) && (schema as { type?: string }).type !== 'boolean')
        .map(([name]) => `${row.at} ${name}`),
    )
    expect([...new Set(shown)]).toEqual([
      'POST /auth/totp secret',
      'POST /tokens token',
      'GET /projects/:id/clone-token token',
      'PATCH /projects/:id/clone-token token',
      'POST /projects/:id/deployment-session token',
      'GET /projects/:id/server-logs/stream-token token',
      'POST /gitprovider/handoffs/collect accessToken',
      'POST /gitprovider/handoffs/collect refreshToken',
      'POST /gitprovider/handoffs/refresh accessToken',
      'POST /gitprovider/handoffs/refresh refreshToken',
      'GET /gitprovider/repos/:owner/:repo/clone-token token',
      'POST /notifications/channels secret',
      'PATCH /backup-policies/:policyId webhookToken',
      'POST /backup-runs/:runId/restore/prepare confirmationToken',
    ])
  })
})

describe('the second permission check inside handlers', () => {
  const { backups } = contract
  const needs = (...rows: AnyRoute[]) => rows.map((row) => [row.on, row.needs])

  test('policy update and manual run require write on the parent project; policy delete requires admin on it', () => {
    expect(needs(backups.updatePolicy, backups.startRun, backups.deletePolicy)).toEqual([
      ['backupPolicy', 'write'],
      ['backupPolicy', 'write'],
      ['backupPolicy', 'admin'],
    ])
  })

  test('runs: read to view or stream, write to protect, admin for prepare', () => {
    expect(needs(backups.getRun, backups.streamRun, backups.protectRun, backups.prepareRestore)).toEqual([
      ['backupRun', 'read'],
      ['backupRun', 'read'],
      ['backupRun', 'write'],
      ['backupRun', 'admin'],
    ])
  })

  test('restores: read to view or stream, admin for apply and cancel', () => {
    expect(needs(backups.getRestore, backups.streamRestore, backups.applyRestore, backups.cancelRestore)).toEqual([
      ['backupRestore', 'read'],
      ['backupRestore', 'read'],
      ['backupRestore', 'admin'],
      ['backupRestore', 'admin'],
    ])
  })

  test('policies, runs and restores follow the grant on their project', () => {
    for (const kind of ['backupPolicy', 'backupRun', 'backupRestore'] as const) expect(projectScoped.has(kind)).toBe(true)
  })
})

describe('the public webhooks', () => {
  test('every failure of the backup webhook is the same 404, and it is rate-limited', () => {
    expect(contract.backups.receiveWebhook).toMatchObject({ conceal: true, rateLimit: 'publicWebhook' })
  })

  test('a git host delivery is checked over its raw bytes', () => {
    expect(contract.gitEvents.receiveWebhook).toMatchObject({ rawBody: true, rateLimit: 'publicWebhook' })
  })
})

describe('shapes', () => {
  const { backups, gitHost, migration, notifications } = contract

  test('the run and restore streams: snapshot, transition, progress, complete', () => {
    for (const row of [backups.streamRun, backups.streamRestore])
      expect(Object.keys(row.stream ?? {})).toEqual(['snapshot', 'transition', 'progress', 'complete'])
  })

  test('deliveries: limit defaults to 50 and ends at 200', () => {
    expect(limits).toMatchObject({ deliveriesDefault: 50, deliveriesMaximum: 200 })
    const query = notifications.listDeliveries.query!
    expect(query.properties.limit).toMatchObject({ default: 50, minimum: 1, maximum: 200 })
  })

  test('a category that is not in the registry is refused', () => {
    const body = { channelId: 'nch_1', enabled: true }
    for (const { id } of categories)
      expect(Value.Check(notifications.putSubscription.body!, { ...body, category: id })).toBe(true)
    expect(Value.Check(notifications.putSubscription.body!, { ...body, category: 'deploy.maybe' })).toBe(false)
    expect(Value.Check(notifications.putDefault.body!, { category: 'deploy.maybe', defaultEnabled: true })).toBe(false)
  })

  test('the categories that are on by default', () => {
    expect(categories.filter((category) => !category.defaultEnabled).map((category) => category.id)).toEqual([
      'deploy.succeeded',
      'deploy.cancelled',
      'project.slept',
      'backup.succeeded',
      'member.joined',
    ])
    expect(categories).toHaveLength(26)
  })

  test('`..` in path or file is refused, in a name it is not', () => {
    for (const path of ['..', '../a', 'a/..', 'a/../b', 'a\\..\\b', 'a\n/../b']) {
      expect([path, Value.Check(gitHost.listFiles.query!, { path })]).toEqual([path, false])
      expect([path, Value.Check(gitHost.getFile.query!, { file: path })]).toEqual([path, false])
    }
    for (const path of ['', 'a..b', '...', '.github/a', '..a/b', 'a/b..'])
      expect([path, Value.Check(gitHost.listFiles.query!, { path })]).toEqual([path, true])
  })

  test('adopt with empty projectName or empty serviceNames is refused', () => {
    const body = { serverId: 'srv_1', projectName: 'shop', serviceNames: ['web'] }
    expect(Value.Check(migration.adopt.body!, body)).toBe(true)
    for (const wrong of [{ projectName: '' }, { projectName: ' ' }, { serviceNames: [] }, { serverId: undefined }])
      expect(Value.Check(migration.adopt.body!, { ...body, ...wrong })).toBe(false)
  })

  test('a policy update cannot name its project, service, creator or webhook token', () => {
    const fields = Object.keys(backups.updatePolicy.body!.properties)
    for (const field of ['id', 'projectId', 'serviceId', 'createdBy', 'webhookToken']) expect(fields).not.toContain(field)
    expect(fields).toEqual(expect.arrayContaining(['destinationId', 'cronExpression', 'enableWebhook', 'rotateWebhookToken']))
  })
})

function schemasOf(row: AnyRoute): unknown[] {
  return [row.returns, ...Object.values(row.stream ?? {})].filter((schema) => schema !== undefined)
}

/** Every property that a schema declares, at any depth, as name and schema. */
function propertiesOf(schema: unknown): [name: string, schema: unknown][] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([key, value]) =>
    key === 'properties'
      ? Object.entries(value as object).flatMap(([name, inner]) => [[name, inner] as [string, unknown], ...propertiesOf(inner)])
      : propertiesOf(value),
  )
}
