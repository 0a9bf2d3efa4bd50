// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { type AnyRoute, type Method, table } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeApi } from '../src/http/openapi.ts'
import { beforeSql } from './kit/before-sql.ts'
import { type CallInput, call } from './kit/call.ts'
import { isDescribed } from './kit/described-statuses.ts'
import { startInstance, type TestInstance } from './kit/instance.ts'
import { makePeople, makeToken, type People } from './kit/people.ts'
import { makeProject } from './kit/projects.ts'
import { sampleBodies } from './kit/sample-bodies.ts'

type At = `${Method} /${string}`
interface Location {
  at: At
  row: AnyRoute
}
const locations: Location[] = table.flatMap(({ row }) => [row.at, ...(row.alsoAt ?? [])].map((at) => ({ at: at as At, row })))

// biome-ignore lint/suspicious/noExplicitAny: the description is read as a client reads it
const api = describeApi('0', 'self-hosted') as any
const operationAt = (at: string) => {
  const [method, path] = at.split(' ') as [string, string]
  return api.paths[path.replace(/:(\w+)/g, '{$1}')][method.toLowerCase()]
}

describe('every status of a route is in its description', () => {
  let instance: TestInstance
  let ours: People
  let limited: string
  beforeAll(async () => {
    instance = await startInstance()
    ours = await makePeople(instance)
    limited = await makeToken(instance, ours.owner, { scopes: ['audit:list'] })
  })
  afterAll(() => instance.stop())

  const unknown = (row: AnyRoute) =>
    Object.fromEntries([...row.path.matchAll(/:(\w+)/g)].map(([, name]) => [name as string, `${name}_unknown`]))
  const bodyOf = ({ at, row }: Location) =>
    row.upload ? 'not gzip' : row.body ? (sampleBodies[at] ?? sampleBodies[row.at] ?? {}) : undefined
  const typeOf = (row: AnyRoute) => (row.upload ? { 'content-type': row.upload.contentType } : undefined)

  const faults: Record<string, (location: Location) => Promise<[string | null, CallInput]>> = {
    'no credential': async (location) => [null, { body: bodyOf(location) }],
    'a bad credential': async (location) => ['brt_wrong', { body: bodyOf(location) }],
    'a token without the scope': async (location) => [limited, { body: bodyOf(location) }],
    'a role without the tag': async (location) => [ours.viewer.token, { body: bodyOf(location) }],
    'malformed JSON': async () => [ours.owner.token, { body: '{"a": ' }],
    'another content type': async () => [ours.owner.token, { body: 'a=b', headers: { 'content-type': 'text/plain' } }],
    'too large a body': async () => [ours.owner.token, { body: JSON.stringify({ name: 'x'.repeat(1024 * 1024) }) }],
    'a list instead of an object': async () => [ours.owner.token, { body: '[1]' }],
    'no body': async () => [ours.owner.token, {}],
    'an empty object': async () => [ours.owner.token, { body: {} }],
    'fields of the wrong type': async (location) => [
      ours.owner.token,
      { body: Object.fromEntries(Object.keys(location.row.body?.properties ?? {}).map((name) => [name, { wrong: [1] }])) },
    ],
    'a query out of range': async (location) => [
      ours.owner.token,
      {
        body: bodyOf(location),
        query: Object.fromEntries(Object.keys(location.row.query?.properties ?? {}).map((name) => [name, ''])),
      },
    ],
    'an unknown id': async (location) => [ours.owner.token, { body: bodyOf(location) }],
    'a project that was never deployed': async (location) => {
      const project = await makeProject(instance, ours.owner.token)
      const body = bodyOf(location)
      const named = typeof body === 'object' && 'projectId' in body ? { ...body, projectId: project.id } : body
      return [ours.owner.token, { body: named, params: { id: project.id, projectId: project.id, environment: 'production' } }]
    },
    'a project of another organisation': async (location) => {
      const project = await makeProject(instance, (await makePeople(instance)).owner.token)
      return [ours.owner.token, { body: bodyOf(location), params: { id: project.id, projectId: project.id } }]
    },
  }
  // A stream on no object, or on one that exists, stays open.
  const isOpen = ({ row }: Location, fault: string) =>
    row.stream && (!row.on || fault === 'a project that was never deployed') && fault !== 'no credential'

  describe.each(Object.entries(faults))('%s', (fault, inputOf) => {
    test.each(beforeSql(locations.filter((location) => !isOpen(location, fault))))('$at', async (location) => {
      const [token, input] = await inputOf(location)
      const headers = { ...typeOf(location.row), ...input.headers }
      const { status, body } = await call(instance, token, location.at, {
        ...input,
        headers,
        params: { ...unknown(location.row), ...input.params },
      })
      expect(status).not.toBe(500)
      if (!isDescribed(location.at, status)) throw new Error(`${status} ${JSON.stringify(body)} is not in the description`)
    })
  })
})

describe('the description', () => {
  test('has the config of each kind, chosen by `kind`', () => {
    for (const [at, kinds] of [
      ['POST /notifications/channels', ['email', 'webhook', 'slack', 'in_app']],
      ['POST /backup-destinations', ['local', 's3', 'sftp']],
      ['POST /projects/:id/route-rules', ['rate-limit', 'ban', 'allow-deny']],
    ] as const) {
      const { oneOf, discriminator } = operationAt(at).requestBody.content['application/json'].schema
      expect(discriminator.propertyName).toBe('kind')
      expect(Object.keys(discriminator.mapping).sort()).toEqual([...kinds].sort())
      for (const { $ref } of oneOf) expect(api.components.schemas[$ref.split('/').at(-1)].properties.config.type).toBe('object')
    }
  })
  test('every reference resolves to a component', () => {
    const refs = [...JSON.stringify(api).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name as string)
    expect([...new Set(refs)].filter((name) => !api.components.schemas[name])).toEqual([])
  })
  test('the backup webhook requires the token of its policy', () => {
    expect(operationAt('POST /webhooks/backup').security).toEqual([{ policyToken: [] }])
    expect(api.components.securitySchemes.policyToken).toMatchObject({ type: 'http', scheme: 'bearer' })
  })
  test('a browser is redirected with 303', () => {
    expect(Object.keys(operationAt('GET /gitprovider/connect/redirect').responses)).toContain('303')
  })
  test('routes of projects that may be in the cloud document 503 cloud_unreachable', () => {
    expect(operationAt('GET /projects/:id').responses['503'].description).toContain('cloud_unreachable')
  })
  test('every field and parameter has a description', () => {
    const missing = new Set<string>()
    // biome-ignore lint/suspicious/noExplicitAny: any part of the description
    const check = (part: any, location: string): void => {
      if (Array.isArray(part)) for (const one of part) check(one, location)
      if (typeof part !== 'object' || part === null || Array.isArray(part)) return
      const isObject = typeof part.type === 'string' && part.properties
      for (const [name, field] of Object.entries<{ description?: string }>(isObject ? part.properties : {}))
        if (!field.description) missing.add(`${location}: ${name}`)
      for (const inner of Object.values(part)) check(inner, location)
    }
    for (const [path, operations] of Object.entries<object>(api.paths))
      for (const [method, operation] of Object.entries(operations)) {
        for (const { name, description } of operation.parameters) if (!description) missing.add(`${method} ${path}: ${name}`)
        check(operation, `${method} ${path}`)
      }
    check(api.components, 'components')
    // A new name needs a line in field-texts.ts of the contract, or a `description` in its shape.
    expect([...missing]).toEqual([])
  })
})
