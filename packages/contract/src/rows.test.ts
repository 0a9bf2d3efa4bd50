import { Value } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { type AnyRoute, contract, type ModuleName, operatorField, table } from './index.ts'

/** The spec's tables: method and path, permission, and `SH` if only a self-hosted instance serves it. */
const spec: Partial<Record<ModuleName, string>> = {
  projects: `
    GET /projects | project:list
    POST /projects | project:write
    GET /projects/home | project:list
    POST /projects/ensure | project:write
    GET /projects/local | project:list | SH
    POST /projects/scan | project:write | SH
    POST /projects/import | project:write | SH
    GET /projects/:id | project:read
    PATCH /projects/:id | project:write
    DELETE /projects/:id | project:admin
    GET /projects/:id/info | project:read
    GET /projects/:id/deletion-preview | project:read
    GET /projects/:id/environments | project:read
    POST /projects/:id/environments | project:write
    POST /projects/:id/options | project:write
    POST /projects/:id/enable | project:write
    POST /projects/:id/disable | project:write
    POST /projects/:id/routing/retry | project:write
    GET /projects/:id/env | project:read
    PATCH /projects/:id/env | project:write
    GET /projects/:id/clone-token | project:read
    PATCH /projects/:id/clone-token | project:admin
    GET /projects/:id/git | project:read
    GET /projects/:id/commit-status | project:read
    POST /projects/:id/git/link | project:write
    GET /projects/:id/branches | project:read
    POST /projects/:id/auto-deploy | project:write
    POST /projects/:id/webhook-domain | project:write
    POST /projects/:id/branch | project:write
    GET /projects/:id/resources | project:read
    PATCH /projects/:id/resources | project:write
    POST /projects/:id/resources | project:write
    POST /projects/:id/sleep-mode | project:write
    GET /projects/:id/deployments | project:deployment:list
    POST /projects/:id/deployment-session | project:read
    POST /projects/:id/connect | project:write
    GET /projects/:id/logs | project:read
    GET /projects/:id/logs/stream | project:read
    GET /projects/:id/server-logs/recent | project:read
    GET /projects/:id/server-logs/stream-token | project:read
    GET /projects/:id/server-logs/stream | project:read
    GET /projects/:id/route-rules | project:read | SH
    POST /projects/:id/route-rules | project:write | SH
    PATCH /projects/:id/route-rules/:ruleId | project:write | SH
    DELETE /projects/:id/route-rules/:ruleId | project:write | SH
    POST /projects/folder/session | project:write
    POST /projects/folder/upload/:sessionId | project:write | SH
    POST /projects/folder/scan/:sessionId | project:write
    POST /projects/:id/transfer/to-cloud | project:admin | SH
    POST /projects/:id/transfer/to-self-hosted | project:admin | SH
  `,
  gitHost: `
    GET /gitprovider/status | gitprovider:read
    GET /gitprovider/home | gitprovider:read
    GET /gitprovider/local-status | gitprovider:read | SH
    GET /gitprovider/connect/poll | gitprovider:read | SH
    POST /gitprovider/connect | gitprovider:write
    GET /gitprovider/connect/redirect | public
    POST /gitprovider/disconnect | gitprovider:admin
    GET /gitprovider/repos | gitprovider:list
    POST /gitprovider/repos | gitprovider:write
    GET /gitprovider/orgs/:org/repos | gitprovider:list
    GET /gitprovider/repos/:owner/:repo | gitprovider:read
    DELETE /gitprovider/repos/:owner/:repo | gitprovider:admin
    GET /gitprovider/repos/:owner/:repo/branches | gitprovider:list
    GET /gitprovider/repos/:owner/:repo/clone-token | gitprovider:read
    GET /gitprovider/repos/:owner/:repo/files | gitprovider:list
    GET /gitprovider/repos/:owner/:repo/file | gitprovider:read
    GET /gitprovider/repos/:owner/:repo/webhooks | gitprovider:list
    POST /gitprovider/repos/:owner/:repo/webhooks | gitprovider:write
    DELETE /gitprovider/repos/:owner/:repo/webhooks | gitprovider:admin
  `,
  notifications: `
    GET /notifications/categories | notifications:read
    GET /notifications/channels | notifications:read
    POST /notifications/channels | notifications:write
    PATCH /notifications/channels/:id | notifications:write
    DELETE /notifications/channels/:id | notifications:write
    GET /notifications/subscriptions | notifications:read
    PUT /notifications/subscriptions | notifications:write
    DELETE /notifications/subscriptions/:id | notifications:write
    GET /notifications/defaults | notifications:read
    PUT /notifications/defaults | notifications:admin
    GET /notifications/deliveries | notifications:read
    GET /notifications/deliveries/unseen-count | notifications:read
    POST /notifications/deliveries/:id/seen | notifications:write
  `,
  backups: `
    GET /projects/:projectId/backup-policies | project:write
    POST /projects/:projectId/backup-policies | project:write
    PATCH /backup-policies/:policyId | backup_destination:backup_policy:write
    DELETE /backup-policies/:policyId | backup_destination:backup_policy:write
    POST /backup-policies/:policyId/run | backup_destination:backup_policy:write
    GET /projects/:projectId/backup-runs | project:write
    GET /backup-runs/:runId | backup_destination:backup_run:read
    GET /backup-runs/:runId/stream | backup_destination:backup_run:read
    POST /backup-runs/:runId/protect | backup_destination:backup_run:write
    POST /backup-runs/:runId/restore/prepare | backup_destination:backup_run:write
    POST /backup-restores/:restoreId/apply | backup_destination:backup_restore:write
    POST /backup-restores/:restoreId/cancel | backup_destination:backup_restore:write
    GET /backup-restores/:restoreId | backup_destination:backup_restore:read
    GET /backup-restores/:restoreId/stream | backup_destination:backup_restore:read
    POST /webhooks/backup | public
  `,
  migration: `
    POST /migration/scan | server:write | SH
    POST /migration/adopt | server:write | SH
  `,
}

/** Routes that the contract adds to the spec. */
const extra: Partial<Record<ModuleName, string>> = {
  instance: `
    GET /health | public
    GET /instance/machine | organization:read
    GET /instance/version | organization:read
  `,
  access: `
    POST /auth/login | public
    POST /auth/logout | public
    GET /auth/session | organization:read
    POST /auth/setup | public
    POST /auth/password | token:write
    GET /auth/sessions | token:list
    DELETE /auth/sessions/:id | token:write
    POST /auth/totp | token:write
    POST /auth/totp/confirm | token:write
    DELETE /auth/totp | token:write
    GET /auth/passkeys | token:list
    POST /auth/passkeys/registration | token:write
    POST /auth/passkeys | token:write
    DELETE /auth/passkeys/:id | token:write
    GET /auth/passkeys/sign-in-options | public
    POST /auth/passkeys/sign-in | public
    GET /tokens | token:list
    POST /tokens | token:write
    DELETE /tokens/:id | token:write
    PUT /projects/:id/grants | project:admin
    GET /audit-log | audit:list
  `,
  projects: `
    GET /frameworks | project:list
    GET /projects/:id/metrics | project:read
    DELETE /projects/:id/environments/:environment | project:admin
    GET /projects/:id/environments/:environment/deletion-preview | project:read
    POST /projects/:id/preview-variables | project:admin
    GET /projects/:id/domains | project:read
    DELETE /projects/:id/domains/:hostname | project:write
    POST /projects/:id/domains/:hostname/verify | project:write
    POST /projects/:id/domains/:hostname/primary | project:write
  `,
  deployments: `
    POST /deployments/build/access | project:write
    GET /deployments | project:deployment:list
    GET /deployments/:id | project:read
    GET /deployments/:id/logs | project:read
    GET /deployments/:id/stream | project:read
    POST /deployments/:id/cancel | project:write
    POST /deployments/:id/redeploy | project:write
    POST /deployments/:id/rollback | project:write
    POST /projects/:id/exec | project:admin
    GET /projects/:id/deploy-hooks | project:read
    POST /projects/:id/deploy-hooks | project:write
    DELETE /projects/:id/deploy-hooks/:hookId | project:write
    POST /hooks/deploy/:token | public
    POST /projects/:id/exec/:execId/input | project:admin
    POST /projects/:id/restart | project:write
    GET /deployments/:id/changes | project:read
    GET /instance/storage | organization:read
    POST /instance/storage/clean-up | organization:admin
    GET /projects/:id/volumes | project:read
    DELETE /projects/:id/volumes/:volumeId | project:admin
  `,
  links: `
    GET /projects/:id/links | project:read
    POST /projects/:id/links | project:write
    DELETE /projects/:id/links/:linkId | project:write
  `,
  tasks: `
    GET /projects/:id/cron-jobs | project:read
    POST /projects/:id/cron-jobs | project:write
    PATCH /projects/:id/cron-jobs/:cronJobId | project:write
    DELETE /projects/:id/cron-jobs/:cronJobId | project:write
    POST /projects/:id/cron-jobs/:cronJobId/run | project:write
    GET /projects/:id/cron-jobs/:cronJobId/runs | project:read
    GET /cron-runs/:id | project:read
    GET /cron-runs/:id/logs | project:read
  `,
  catalogue: `
    GET /catalogue | project:list
    GET /catalogue/:templateId | project:list
    POST /catalogue/:templateId | project:write
  `,
  gitHost: `
    GET /gitprovider/applications | gitprovider:read
    PUT /gitprovider/applications/:provider | gitprovider:admin
    DELETE /gitprovider/applications/:provider | gitprovider:admin
    POST /gitprovider/manifest | gitprovider:admin
    POST /gitprovider/manifest/conversion | gitprovider:admin
    POST /gitprovider/handoffs | gitprovider:write
    POST /gitprovider/handoffs/collect | gitprovider:write
    POST /gitprovider/handoffs/refresh | gitprovider:write
  `,
  gitEvents: `
    POST /webhooks/git/:provider | public
    GET /projects/:id/pull-requests | project:read
    POST /projects/:id/pull-requests/:number/approve | project:admin
  `,
  notifications: `
    POST /notifications/channels/:id/test | notifications:write
    GET /notifications/stream | notifications:read
  `,
  backups: `
    POST /backup-runs/:runId/cancel | backup_destination:backup_run:write
    GET /backup-runs | backup_destination:backup_run:read
    GET /projects/:id/backup-restores | backup_destination:backup_restore:read
    GET /backup-destinations | backup_destination:list
    POST /backup-destinations | backup_destination:write
    GET /backup-destinations/:id | backup_destination:read
    PATCH /backup-destinations/:id | backup_destination:write
    DELETE /backup-destinations/:id | backup_destination:admin
    POST /backup-destinations/:id/check | backup_destination:write
    GET /instance/backup-policy | organization:read
    PUT /instance/backup-policy | organization:admin
    DELETE /instance/backup-policy | organization:admin
    GET /instance/backups | organization:read
    POST /instance/backups | organization:admin
  `,
  registries: `
    GET /registries | organization:write
    POST /registries | organization:write
    DELETE /registries/:registryId | organization:write
  `,
  servers: `
    GET /servers | server:list
    POST /servers | server:write
    GET /servers/:id | server:read
    PATCH /servers/:id | server:write
    DELETE /servers/:id | server:admin
    POST /servers/:id/check | server:write
  `,
  cloud: `
    PUT /cloud/link | cloud:admin | SH
    GET /cloud/link | cloud:read | SH
    DELETE /cloud/link | cloud:admin | SH
    GET /projects/:id/transfer | project:read | SH
  `,
  transfers: `
    GET /transfers | project:admin
    DELETE /transfers/:id | project:admin
    POST /projects/:id/departure | project:admin
    GET /departures/:id | project:admin
    PATCH /departures/:id | project:admin
    GET /departures/:id/files/:file | project:admin
    PUT /arrivals/:id | project:admin
    GET /arrivals/:id | project:admin
    PATCH /arrivals/:id | project:admin
    PUT /arrivals/:id/files/:file | project:admin
  `,
}

const linesOf = (text = '') =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

const lineOf = (row: AnyRoute, at: string) => [at, row.permission ?? 'public', ...(row.selfHostedOnly ? ['SH'] : [])].join(' | ')

const declared = (module: ModuleName) =>
  table
    .filter((entry) => entry.module === module)
    .flatMap(({ row }) => [row.at as string, ...(row.alsoAt ?? [])].map((at) => lineOf(row, at)))

describe('the table of rows and the spec', () => {
  test('counts all 99 routes of the spec', () => {
    expect(Object.values(spec).flatMap(linesOf)).toHaveLength(99)
  })

  test.each(Object.keys(spec) as ModuleName[])(
    '%s: has every route of the spec with its tag and self-hosted mark, in the order of the spec',
    (module) => {
      const requested = linesOf(spec[module])
      expect(declared(module).filter((line) => requested.includes(line))).toEqual(requested)
    },
  )

  test.each(Object.keys(extra) as ModuleName[])('%s: has every route that the contract adds', (module) => {
    const lines = declared(module)
    for (const line of linesOf(extra[module])) expect(lines).toContain(line)
  })

  test('modules whose routes are all listed by the spec or the contract have no further routes', () => {
    for (const module of [
      'projects',
      'deployments',
      'gitHost',
      'gitEvents',
      'notifications',
      'backups',
      'servers',
      'registries',
      'migration',
      'transfers',
      'cloud',
    ] as const)
      expect(declared(module).toSorted()).toEqual([...linesOf(spec[module]), ...linesOf(extra[module])].toSorted())
  })

  test('the former full-replace PUT on a project env route does not exist', () => {
    expect(table.filter(({ row }) => row.path === '/projects/:id/env').map(({ row }) => row.method)).toEqual(['GET', 'PATCH'])
  })
})

describe('every row', () => {
  test('has a path of its own, regardless of parameter names', () => {
    const paths = table.flatMap(({ row }) => [row.at, ...(row.alsoAt ?? [])]).map((at: string) => at.replace(/:\w+/g, ':'))
    expect(paths).toEqual([...new Set(paths)])
  })

  test('answers with exactly one of: body, stream, page, bytes or 204', () => {
    const wrong = table.filter(({ row }) => {
      const answers = [row.returns, row.stream, row.browser, row.bytes, row.status === 204].filter(Boolean)
      return answers.length !== 1
    })
    expect(wrong.map(({ row }) => row.at)).toEqual([])
  })

  test('with a required level names the object of that level', () => {
    expect(table.filter(({ row }) => row.needs && !row.on).map(({ row }) => row.at)).toEqual([])
  })

  test('with an object has its id in the path or in the declared body field', () => {
    const wrong = table.filter(
      ({ row }) => row.on && (row.inBody ? !row.body?.properties?.[row.inBody] : !row.path.includes(':')),
    )
    expect(wrong.map(({ row }) => row.at)).toEqual([])
  })

  test('declares for each id field which object it names', () => {
    // A service is a name in its project's own list; hook and client ids belong to the git host.
    const others = new Set(['serviceId', 'hookId', 'clientId', 'objectId'])
    const unsaid = table.flatMap(({ row }) =>
      Object.keys({ ...row.body?.properties, ...row.query?.properties })
        .filter((field) => /Ids?$/.test(field) && field !== row.inBody && !row.names?.[field] && !others.has(field))
        .map((field) => `${row.at} ${field}`),
    )
    expect(unsaid).toEqual([])
    for (const { row } of table)
      for (const field of Object.keys(row.names ?? {}))
        expect({ ...row.body?.properties, ...row.query?.properties }).toHaveProperty(field)
  })

  test('that returns a list with a cursor takes limit and cursor', () => {
    const wrong = table.filter(({ row }) => {
      const paged = row.method === 'GET' && row.returns?.properties?.nextCursor !== undefined
      return paged && !(row.query?.properties?.limit && row.query.properties.cursor)
    })
    expect(wrong.map(({ row }) => row.at)).toEqual([])
  })

  test('with method GET takes no body', () => {
    expect(table.filter(({ row }) => row.method === 'GET' && (row.body || row.upload)).map(({ row }) => row.at)).toEqual([])
  })

  test('with an optional body requires no field', () => {
    expect(table.filter(({ row }) => row.bodyOptional && !Value.Check(row.body, {})).map(({ row }) => row.at)).toEqual([])
  })
})

describe('a token limited to projects', () => {
  const reached = (how: 'filtered' | 'own') => table.filter(({ row }) => row.projectTokens === how).map(({ row }) => row.at)

  test('reaches exactly these rows besides those of its projects', () => {
    expect(reached('own')).toEqual(['GET /auth/session', 'DELETE /tokens/:id'])
    expect(reached('filtered')).toEqual([
      'GET /projects',
      'GET /projects/home',
      'GET /projects/local',
      'GET /deployments',
      'GET /notifications/deliveries',
      'GET /notifications/deliveries/unseen-count',
      'POST /notifications/deliveries/:id/seen',
      'GET /notifications/stream',
      'GET /backup-runs',
    ])
  })
})

describe('an operator of the instance', () => {
  test('is required by every row that reads or writes the machine itself', () => {
    const request = table.flatMap(({ row }) => {
      const fields = row.operator === true ? ['always'] : (row.operator ?? [])
      return fields.map(
        (field) => `${row.at} ${typeof field === 'string' ? field : [field.field, field.is].filter(Boolean).join('=')}`,
      )
    })
    expect(request).toEqual([
      'GET /instance/machine always',
      'GET /instance/version always',
      'POST /auth/sign-up/invitations always',
      'GET /quotas/:organizationId always',
      'PUT /quotas/:organizationId always',
      'POST /projects localPath',
      'POST /projects/ensure localPath',
      'POST /projects/scan always',
      'POST /projects/import always',
      'PATCH /projects/:id localPath',
      'GET /instance/storage always',
      'POST /instance/storage/clean-up always',
      'POST /gitprovider/connect source=cli',
      'GET /gitprovider/applications always',
      'PUT /gitprovider/applications/:provider always',
      'DELETE /gitprovider/applications/:provider always',
      'POST /gitprovider/manifest always',
      'POST /gitprovider/manifest/conversion always',
      'POST /backup-destinations kind=local',
      'GET /instance/backup-policy always',
      'PUT /instance/backup-policy always',
      'DELETE /instance/backup-policy always',
      'GET /instance/backups always',
      'POST /instance/backups always',
    ])
  })

  test('is required wherever a localPath can be given', () => {
    const unguarded = table.filter(({ row }) => row.body?.properties?.localPath && !row.operator)
    expect(unguarded.map(({ row }) => row.at)).toEqual([])
  })

  test('is required if the field is given, or has the value that the row names', () => {
    const { create } = contract.projects
    expect([
      operatorField(create, { localPath: '/x' }),
      operatorField(create, { localPath: null }),
      operatorField(create, {}),
    ]).toEqual(['localPath', undefined, undefined])
    const { connect } = contract.gitHost
    expect([
      operatorField(connect, { source: 'cli' }),
      operatorField(connect, { source: 'oauth' }),
      operatorField(connect, undefined),
    ]).toEqual(['source', undefined, undefined])
  })
})
