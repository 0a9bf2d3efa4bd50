// gate: also on PostgreSQL, since it calls every route
import { existsSync, readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AnyRoute,
  contract,
  type Method,
  operatorField,
  type Permission,
  permissions,
  roles,
  table,
  tagsOf,
} from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeApi } from '../src/http/openapi.ts'
import { beforeSql } from './kit/before-sql.ts'
import { call } from './kit/call.ts'
import { startInstance, type TestInstance } from './kit/instance.ts'
import { makePeople, makeToken, type People } from './kit/people.ts'
import { makeProject } from './kit/projects.ts'
import { sampleBodies } from './kit/sample-bodies.ts'

/** Tests of every kind for each row of the table: what the row promises before its handler runs. */

type At = `${Method} /${string}`
const locations = table.flatMap(({ row }) => [row.at, ...(row.alsoAt ?? [])].map((at) => ({ at: at as At, row })))
const guarded = locations.filter(({ row }) => row.permission)
/** A route that responds to every valid token. */
const session: AnyRoute = contract.access.session

/** Params that name no object, and a body that the row accepts. */
function inputFor(row: AnyRoute) {
  const params = Object.fromEntries([...row.path.matchAll(/:(\w+)/g)].map(([, name]) => [name as string, `${name}_unknown`]))
  const body = row.upload ? 'not gzip' : row.body ? (sampleBodies[row.at] ?? {}) : undefined
  return { params, body, ...(row.upload ? { headers: { 'content-type': row.upload.contentType } } : {}) }
}

let instance: TestInstance
let cloud: TestInstance
let ours: People
let cloudPeople: People

beforeAll(async () => {
  ;[instance, cloud] = await Promise.all([startInstance(), startInstance({ BERTH_MODE: 'cloud' })])
  ;[ours, cloudPeople] = await Promise.all([makePeople(instance), makePeople(cloud)])
})
afterAll(() => Promise.all([instance?.stop(), cloud?.stop()]))

describe('without a credential', () => {
  test.each(beforeSql(guarded))('401: $at', async ({ at, row }) => {
    const { status, body } = await call(instance, null, at, inputFor(row))
    expect({ status, code: body.code }).toEqual({ status: 401, code: 'unauthorized' })
  })
  test.each(locations.filter(({ row }) => row.public))('never 401 for want of a session: $at', async ({ at, row }) => {
    const { status, body } = await call(instance, null, at, inputFor(row))
    // A 401 is allowed only for a wrong password or signature.
    if (status === 401) expect(row.errors).toContain('unauthorized')
    expect(body.code).not.toBe('forbidden')
  })
})

describe.each(roles)('as the role %s', (role) => {
  const isOperator = role === 'owner' || role === 'admin'
  test.each(guarded)('$at: 403 exactly where the role lacks the tag or an operator is required', async ({ at, row }) => {
    if (isStream(row) && tagsOf(role).has(row.permission as Permission) && !row.on) return
    const input = inputFor(row)
    const { status, body } = await call(instance, ours[role].token, at, input)
    const isAsked = row.operator === true || operatorField(row, input.body) !== undefined
    if (!tagsOf(role).has(row.permission as Permission))
      expect({ status, permission: body.permission }).toEqual({ status: 403, permission: row.permission })
    else if (isAsked && !isOperator) expect({ status, code: body.code }).toEqual({ status: 403, code: 'forbidden' })
    // A wrong code in the body is 401 too, and names its field.
    else if (!(status === 401 && body.field === 'code')) expect([401, 403]).not.toContain(status)
    expect(status).not.toBe(500)
  })
})

describe('the owner of another organisation than the one made at set-up', () => {
  const requests = locations.filter(({ row }) => row.operator)
  /** A body that requires an operator. */
  const requestBody = (row: AnyRoute) => {
    const [field] = row.operator === true ? [] : (row.operator ?? [])
    return { ...sampleBodies[row.at], ...(field ? { [field.field]: field.is ?? '/tmp' } : {}) }
  }
  test.each(requests)('403 where an operator is required: $at', async ({ at, row }) => {
    const { owner } = await makePeople(instance)
    const project = await makeProject(instance, owner.token)
    const { status, body } = await call(instance, owner.token, at, {
      params: { ...inputFor(row).params, id: project.id },
      body: requestBody(row),
    })
    expect({ status, code: body.code, permission: body.permission }).toEqual({ status: 403, code: 'forbidden' })
  })
})

/** A stream that is on no object stays open: the tests of its module read it. */
const isStream = (row: AnyRoute) => row.stream !== undefined

describe('with a token that lacks the scope', () => {
  let [onlyAudit, onlyProjects] = ['', '']
  beforeAll(async () => {
    onlyAudit = await makeToken(instance, ours.owner, { scopes: ['audit:list'] })
    onlyProjects = await makeToken(instance, ours.owner, { scopes: ['project:list'] })
  })
  test.each(beforeSql(guarded.filter(({ row }) => row !== session)))('403: $at', async ({ at, row }) => {
    const token = row.permission === 'audit:list' ? onlyProjects : onlyAudit
    const { status, body } = await call(instance, token, at, inputFor(row))
    expect({ status, permission: body.permission }).toEqual({ status: 403, permission: row.permission })
  })
})

describe('with a token of one scope', () => {
  const tokens = new Map<Permission, string>()
  let own: Map<Permission, string>
  const held = [...new Set(guarded.map(({ row }) => row.permission as Permission))]
  beforeAll(async () => {
    // Calls are limited per user: they are spread over several users.
    const owners = await Promise.all(Array.from({ length: 8 }, async () => (await makePeople(instance)).owner))
    for (const [at, scope] of permissions.entries())
      tokens.set(scope, await makeToken(instance, owners[at % owners.length]!, { scopes: [scope] }))
    own = new Map(
      await Promise.all(held.map(async (scope) => [scope, await makeToken(instance, ours.owner, { scopes: [scope] })] as const)),
    )
  })
  test.each(beforeSql(guarded))('403 with every scope except that of the row: $at', async ({ at, row }) => {
    const others = permissions.filter((scope) => scope !== row.permission)
    const answers = await Promise.all(others.map((scope) => call(instance, tokens.get(scope)!, at, inputFor(row))))
    const expected = row === session ? { status: 200 } : { status: 403, permission: row.permission }
    for (const { status, body } of answers) expect({ status, permission: body.permission }).toEqual(expected)
  })
  // A token with scopes must not lock its user out.
  const needsWholeToken: AnyRoute[] = [
    contract.access.beginTotp,
    contract.access.confirmTotp,
    contract.access.beginPasskey,
    contract.access.addPasskey,
  ]
  test.each(needsWholeToken)('403 also with the scope of the row: $at', async (row) => {
    const { status } = await call(instance, own.get(row.permission as Permission)!, row.at as At, inputFor(row))
    expect(status).toBe(403)
  })
  const others = guarded.filter(({ row }) => !isStream(row) && !needsWholeToken.includes(row))
  test.each(others)('the scope of the row is enough: $at', async ({ at, row }) => {
    const { status } = await call(instance, own.get(row.permission as Permission)!, at, inputFor(row))
    expect([401, 403, 500]).not.toContain(status)
  })
  test('no module checks the tags of the role without the scopes', async () => {
    const requests = await Array.fromAsync(glob('../src/**/*.ts', { cwd: import.meta.dirname }))
    const offending = requests.filter((file) => readFileSync(join(import.meta.dirname, file), 'utf8').includes('tagsOf('))
    expect(offending.map((file) => file.replaceAll('\\', '/'))).toEqual(['../src/http/guard.ts'])
  })
})

describe('on a cloud instance', () => {
  test.each(beforeSql(locations.filter(({ row }) => row.selfHostedOnly)))('404: $at', async ({ at, row }) => {
    for (const token of [null, cloudPeople.owner.token]) {
      const { status, body } = await call(cloud, token, at, inputFor(row))
      expect({ status, code: body.code }).toEqual({ status: 404, code: 'not_found' })
    }
  })
})

describe('every response', () => {
  test.each(beforeSql(locations))('$at carries x-request-id', async ({ at, row }) => {
    const { headers } = await call(instance, null, at, inputFor(row))
    expect(headers['x-request-id']).toMatch(/\S{16,}/)
  })
})

describe('a body', () => {
  const bodied = beforeSql(guarded.filter(({ row }) => row.body))
  const owned = (at: At, row: AnyRoute, body: unknown, headers = {}) =>
    call(instance, ours.owner.token, at, { ...inputFor(row), body, headers })

  test.each(bodied)('that is malformed JSON is 400 invalid_json: $at', async ({ at, row }) => {
    const { status, body } = await owned(at, row, '{"a": ')
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_json' })
  })
  test.each(bodied)('of another content type is 415: $at', async ({ at, row }) => {
    const { status, body } = await owned(at, row, 'a=b', { 'content-type': 'application/x-www-form-urlencoded' })
    expect({ status, code: body.code }).toEqual({ status: 415, code: 'unsupported_media_type' })
  })
  test.each(bodied)('over 1 MiB is 413: $at', async ({ at, row }) => {
    const { status, body } = await owned(at, row, JSON.stringify({ name: 'x'.repeat(1024 * 1024) }))
    expect({ status, code: body.code }).toEqual({ status: 413, code: 'payload_too_large' })
  })
  test.each(bodied)('that is a list instead of an object is 400: $at', async ({ at, row }) => {
    const { status, body } = await owned(at, row, '[1]')
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'validation_failed' })
  })
})

describe('shell metacharacters in every string of every body', () => {
  const canary = join(tmpdir(), `berth-canary-${process.pid}`)
  const attacks = [
    `$(touch ${canary})`,
    `\`touch ${canary}\``,
    `; touch ${canary} #`,
    `| touch ${canary}`,
    `--upload-pack=touch ${canary}`,
  ]
  test.each(locations.filter(({ at }) => sampleBodies[at]))(
    '$at runs none of them and never answers 500',
    async ({ at, row }) => {
      // Each sign-in attempt costs a password hash: one attack is enough there.
      const tried = row.rateLimit === 'login' ? attacks.slice(0, 1) : attacks
      const bodies = tried.flatMap((attack) => withStringsReplaced(sampleBodies[at] as object, attack))
      const answers = await Promise.all(bodies.map((body) => call(instance, ours.owner.token, at, { ...inputFor(row), body })))
      expect(answers.map(({ status }) => status)).not.toContain(500)
      expect(existsSync(canary)).toBe(false)
    },
  )
})

/** A copy of the body for each string in it, with that string replaced. */
function withStringsReplaced(value: unknown, by: string): unknown[] {
  if (typeof value === 'string') return [by]
  if (Array.isArray(value))
    return value.flatMap((item, at) => withStringsReplaced(item, by).map((changed) => value.with(at, changed)))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    withStringsReplaced(inner, by).map((changed) => ({ ...value, [key]: changed })),
  )
}

describe('the reference', () => {
  test('GET /openapi.json describes every mounted route with its permission', async () => {
    const { body } = await call(instance, null, 'GET /openapi.json')
    expect(body.openapi).toBe('3.1.0')
    for (const { at, row } of locations) {
      const [method, path] = at.split(' ') as [string, string]
      const operation = body.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
      expect(operation?.['x-permission'] ?? 'public').toBe(row.permission ?? 'public')
    }
  })
  test('in cloud mode it omits the self-hosted routes', () => {
    const { paths } = describeApi('1', 'cloud') as { paths: object }
    expect(Object.keys(paths)).not.toContain('/migration/scan')
  })
  test('GET /docs is a page that names every route', async () => {
    const { body, headers } = await call(instance, null, 'GET /docs')
    expect(headers['content-type']).toContain('text/html')
    for (const { at } of locations) expect(body).toContain(at)
  })
  test('every row with required fields has a sample body', () => {
    const unsampled = table.filter(
      ({ row }) => (row.body as { required?: string[] } | undefined)?.required?.length && !sampleBodies[row.at],
    )
    expect(unsampled.map(({ row }) => row.at)).toEqual([])
  })
})
