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
interface Place {
  at: At
  row: AnyRoute
}
const places: Place[] = table.flatMap(({ row }) => [row.at, ...(row.alsoAt ?? [])].map((at) => ({ at: at as At, row })))

// biome-ignore lint/suspicious/noExplicitAny: the description is read as a client reads it
const api = describeApi('0', 'self-hosted') as any
const operationAt = (at: string) => {
  const [method, path] = at.split(' ') as [string, string]
  return api.paths[path.replace(/:(\w+)/g, '{$1}')][method.toLowerCase()]
}

describe('a status that a route answers is in its description', () => {
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
  const bodyOf = ({ at, row }: Place) =>
    row.upload ? 'not gzip' : row.body ? (sampleBodies[at] ?? sampleBodies[row.at] ?? {}) : undefined
  const typeOf = (row: AnyRoute) => (row.upload ? { 'content-type': row.upload.contentType } : undefined)

  const faults: Record<string, (place: Place) => Promise<[string | null, CallInput]>> = {
    'no credential': async (place) => [null, { body: bodyOf(place) }],
    'a bad credential': async (place) => ['brt_wrong', { body: bodyOf(place) }],
    'a token without the scope': async (place) => [limited, { body: bodyOf(place) }],
    'a role without the tag': async (place) => [ours.viewer.token, { body: bodyOf(place) }],
    'malformed JSON': async () => [ours.owner.token, { body: '{"a": ' }],
    'another content type': async () => [ours.owner.token, { body: 'a=b', headers: { 'content-type': 'text/plain' } }],
    'too large a body': async () => [ours.owner.token, { body: JSON.stringify({ name: 'x'.repeat(1024 * 1024) }) }],
    'a list instead of an object': async () => [ours.owner.token, { body: '[1]' }],
    'no body': async () => [ours.owner.token, {}],
    'an empty object': async () => [ours.owner.token, { body: {} }],
    'fields of the wrong type': async (place) => [
      ours.owner.token,
      { body: Object.fromEntries(Object.keys(place.row.body?.properties ?? {}).map((name) => [name, { wrong: [1] }])) },
    ],
    'a query out of range': async (place) => [
      ours.owner.token,
      {
        body: bodyOf(place),
        query: Object.fromEntries(Object.keys(place.row.query?.properties ?? {}).map((name) => [name, ''])),
      },
    ],
    'an unknown id': async (place) => [ours.owner.token, { body: bodyOf(place) }],
    'a project that was never deployed': async (place) => {
      const project = await makeProject(instance, ours.owner.token)
      const body = bodyOf(place)
      const named = typeof body === 'object' && 'projectId' in body ? { ...body, projectId: project.id } : body
      return [ours.owner.token, { body: named, params: { id: project.id, projectId: project.id, environment: 'production' } }]
    },
    'a project of another organisation': async (place) => {
      const project = await makeProject(instance, (await makePeople(instance)).owner.token)
      return [ours.owner.token, { body: bodyOf(place), params: { id: project.id, projectId: project.id } }]
    },
  }
  // A stream on no object, or on one that exists, stays open.
  const isOpen = ({ row }: Place, fault: string) =>
    row.stream && (!row.on || fault === 'a project that was never deployed') && fault !== 'no credential'

  describe.each(Object.entries(faults))('%s', (fault, inputOf) => {
    test.each(beforeSql(places.filter((place) => !isOpen(place, fault))))('$at', async (place) => {
      const [token, input] = await inputOf(place)
      const headers = { ...typeOf(place.row), ...input.headers }
      const { status, body } = await call(instance, token, place.at, {
        ...input,
        headers,
        params: { ...unknown(place.row), ...input.params },
      })
      expect(status).not.toBe(500)
      if (!isDescribed(place.at, status)) throw new Error(`${status} ${JSON.stringify(body)} is not in the description`)
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
  test('every reference leads to a component', () => {
    const refs = [...JSON.stringify(api).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name as string)
    expect([...new Set(refs)].filter((name) => !api.components.schemas[name])).toEqual([])
  })
  test('the backup webhook asks for the token of its policy', () => {
    expect(operationAt('POST /webhooks/backup').security).toEqual([{ policyToken: [] }])
    expect(api.components.securitySchemes.policyToken).toMatchObject({ type: 'http', scheme: 'bearer' })
  })
  test('a browser is redirected with 303', () => {
    expect(Object.keys(operationAt('GET /gitprovider/connect/redirect').responses)).toContain('303')
  })
  test('routes of projects that may be in the cloud say that it may be away', () => {
    expect(operationAt('GET /projects/:id').responses['503'].description).toContain('cloud_unreachable')
  })
  test('every field and parameter has a description', () => {
    const missing = new Set<string>()
    // biome-ignore lint/suspicious/noExplicitAny: any part of the description
    const look = (part: any, place: string): void => {
      if (Array.isArray(part)) for (const one of part) look(one, place)
      if (typeof part !== 'object' || part === null || Array.isArray(part)) return
      const isObject = typeof part.type === 'string' && part.properties
      for (const [name, field] of Object.entries<{ description?: string }>(isObject ? part.properties : {}))
        if (!field.description) missing.add(`${place}: ${name}`)
      for (const inner of Object.values(part)) look(inner, place)
    }
    for (const [path, operations] of Object.entries<object>(api.paths))
      for (const [method, operation] of Object.entries(operations)) {
        for (const { name, description } of operation.parameters) if (!description) missing.add(`${method} ${path}: ${name}`)
        look(operation, `${method} ${path}`)
      }
    look(api.components, 'components')
    // A new name needs a line in field-texts.ts of the contract, or a `description` in its shape.
    expect([...missing]).toEqual([])
  })
})
