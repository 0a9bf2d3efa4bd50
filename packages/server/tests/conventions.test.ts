import { connect } from 'node:net'
import { type AnyRoute, type Method, table } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AnsweringServer, startAnsweringServer } from './kit/answering-server.ts'
import { call } from './kit/call.ts'
import { sampleBodies } from './kit/sample-bodies.ts'
import { sampleOf as sampleReply } from './kit/sample-reply.ts'

/** The conventions for every request, checked for every row of the table; the handlers are stand-ins that always respond. */

type At = `${Method} /${string}`
interface Location {
  at: At
  row: AnyRoute
}
interface Schema {
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
}
const locations: Location[] = table.flatMap(({ row }) => [row.at, ...(row.alsoAt ?? [])].map((at) => ({ at: at as At, row })))
const writes = locations.filter(({ row }) => row.method !== 'GET')
const bodied = writes.filter(({ row }) => row.body)
const answering = writes.filter(({ row }) => row.returns && !row.upload && !row.rawBody && !row.ignoresBody)
const needsNothing = (schema?: Schema) => !schema?.required?.length
const needsNoField = ({ row }: Location) => !row.rawBody && needsNothing(row.body) && needsNothing(row.query)
const sampleOf = ({ at, row }: Location) => sampleBodies[at] ?? sampleBodies[row.at] ?? {}
const paramsOf = (row: AnyRoute) => Object.fromEntries([...row.path.matchAll(/:(\w+)/g)].map(([, name]) => [name as string, 'x']))

/** The required query parameters of a row. */
const queryOf = ({ query }: AnyRoute): Record<string, string> => {
  const sample = (query ? sampleReply(query) : {}) as Record<string, string>
  return Object.fromEntries((query?.required ?? []).map((name: string) => [name, sample[name] as string]))
}

let server: AnsweringServer
let port: number
beforeAll(async () => {
  server = await startAnsweringServer()
  port = Number(new URL(await server.app.listen({ host: '127.0.0.1', port: 0 })).port)
})
afterAll(() => server.app.close())

const send = ({ at, row }: Location, body: unknown, headers: Record<string, string> = {}) =>
  call(server, 'any', at, { params: paramsOf(row), body, headers })

describe('unknown fields', () => {
  test.each(answering)('$at drops them and names them in `warnings` of the response', async (location) => {
    const given = { ...sampleOf(location), unknownField: { a: 1 }, createdAt: '2026-01-01T00:00:00Z' }
    const { status, body } = await send(location, given)
    expect({ status, warnings: body.warnings }).toEqual({
      status: location.row.status ?? 200,
      warnings: ['Unknown field ignored: unknownField', 'Unknown field ignored: createdAt'],
    })
    expect(server.lastBody() ?? {}).not.toHaveProperty('unknownField')
  })
  test.each(answering)('$at has no `warnings` without unknown fields', async (location) => {
    const { body } = await send(location, sampleOf(location))
    expect(body.warnings ?? []).toEqual([])
    if (!location.row.returns.properties.warnings) expect(body).not.toHaveProperty('warnings')
  })
  test.each([
    ['PATCH /projects/:id/resources', { production: { cpuCores: 1, cpu: 2 } }, 'production.cpu'],
    ['PATCH /projects/:id/env', { upserts: [{ key: 'A', value: 'b', secret: true }] }, 'upserts.0.secret'],
    ['PATCH /projects/:id', { healthCheck: { path: '/', timeout: 3 } }, 'healthCheck.timeout'],
  ] as const)('%s names a nested one by its dotted path', async (at, given, path) => {
    const { body } = await call(server, 'any', at, { params: { id: 'x' }, body: given })
    expect(body.warnings).toEqual([`Unknown field ignored: ${path}`])
  })
})

describe('the query', () => {
  const reads = locations.filter(({ row }) => row.method === 'GET' && !row.stream && !row.conceal && row.returns?.properties)
  test.each(reads)('$at names an unknown parameter in `warnings` of the response', async ({ at, row }) => {
    const { body } = await call(server, 'any', at, { params: paramsOf(row), query: { ...queryOf(row), misspelt: '1' } })
    expect(body.warnings).toContain('Unknown query parameter ignored: misspelt')
    const plain = await call(server, 'any', at, { params: paramsOf(row), query: queryOf(row) })
    expect(plain.body.warnings ?? []).not.toContainEqual(expect.stringContaining('query parameter'))
  })

  const flags = locations.flatMap(({ at, row }) =>
    Object.entries(row.query?.properties ?? {})
      .filter(([, schema]) => (schema as { type?: string }).type === 'boolean')
      .map(([name]) => ({ at, row, name })),
  )
  test.each(flags)('$at accepts only true, false, 1 and 0 for $name', async ({ at, row, name }) => {
    const request = async (value: string) => {
      const query = { ...queryOf(row), [name]: value }
      const sample = row.body ? { body: sampleOf({ at, row }) } : {}
      const { status, body } = await call(server, 'any', at, { params: paramsOf(row), query, ...sample })
      return status === 400 ? body.field : (server.lastQuery() as Record<string, unknown>)[name]
    }
    const expected: [string, unknown][] = [
      ...(['true', '1'] as const).map((value): [string, unknown] => [value, true]),
      ...(['false', '0'] as const).map((value): [string, unknown] => [value, false]),
      ...(['yes', '2', ''] as const).map((value): [string, unknown] => [value, name]),
    ]
    for (const [value, taken] of expected) expect([value, await request(value)]).toEqual([value, taken])
  })
})

describe('a request of length 0 has no body, whatever its content type', () => {
  const types = ['application/x-www-form-urlencoded', 'text/plain', 'nonsense', 'application/json']
  test.each(writes.filter(needsNoField))('$at', async (location) => {
    const expected = location.row.stream ? 200 : (location.row.status ?? 200)
    for (const type of types) {
      const { status } = await send(location, undefined, { 'content-type': type, 'content-length': '0' })
      expect([type, status]).toEqual([type, expected])
    }
  })
  test.each(bodied.filter(({ row }) => !needsNothing(row.body) && !row.conceal))(
    '$at names the first field that it needs',
    async (location) => {
      const { status, body } = await send(location, undefined, { 'content-type': 'text/plain', 'content-length': '0' })
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'validation_failed' })
      expect((location.row.body as Schema).required).toContain(body.field)
    },
  )
  const chunked = (path: string, chunks: string) =>
    exchange(
      `POST /api${path} HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunks}`,
    )
  test('sent in chunks', async () => {
    expect(await chunked('/projects/x/enable', '0\r\n\r\n')).toBe(200)
    expect(await chunked('/projects/x/enable', '1\r\na\r\n0\r\n\r\n')).toBe(415)
  })
})

/** Sends raw bytes; resolves with the status of the response. */
function exchange(text: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(Number(answer.split(' ')[1])))
  })
}

describe('a body', () => {
  const strict = writes.filter(({ row }) => !row.ignoresBody && !row.conceal)
  test.each(strict)('$at: 415 for another content type', async (location) => {
    const { status } = await send(location, 'a=b', { 'content-type': 'text/plain' })
    expect(status).toBe(415)
  })
  // Git hosts send deliveries as forms too.
  test.each(strict.filter(({ row }) => !row.rawBody))('$at: 415 for a form', async (location) => {
    const { status } = await send(location, 'a=b', { 'content-type': 'application/x-www-form-urlencoded' })
    expect(status).toBe(415)
  })
  test.each(strict.filter(({ row }) => !row.upload && !row.rawBody))('$at: 400 for malformed JSON', async (location) => {
    const { status, body } = await send(location, '{"a": ')
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_json' })
  })
  test.each(strict.filter(({ row }) => !row.upload && !row.bodyBytes))('$at: 413 over 1 MiB', async (location) => {
    const { status, body } = await send(location, JSON.stringify({ name: 'x'.repeat(1024 * 1024) }))
    expect({ status, code: body.code }).toEqual({ status: 413, code: 'payload_too_large' })
  })
  test.each(writes.filter(({ row }) => row.ignoresBody))('$at: any is ignored', async (location) => {
    for (const [type, text] of Object.entries({ 'text/plain': 'a', 'application/json': '{', 'application/gzip': 'x' }))
      expect((await send(location, text, { 'content-type': type })).status).toBe(location.row.status)
  })
})

describe('bodies are not coerced', () => {
  const booleans = bodied.flatMap((location) =>
    Object.entries((location.row.body as Schema).properties ?? {})
      .filter(([, { type }]) => type === 'boolean')
      .map(([field]) => ({ ...location, field })),
  )
  test.each(booleans)('$at: null and "1" are not a boolean: $field', async ({ field, ...location }) => {
    for (const value of [null, '1', 1, 'true']) {
      const { status, body } = await send(location, { ...sampleOf(location), [field]: value })
      expect({ status, field: body.field }).toEqual({ status: 400, field })
    }
  })
})

describe('lists', () => {
  const listing = locations.filter(({ row }) => (row.query as Schema | undefined)?.properties?.limit && !row.stream)
  test.each(listing)('$at: 400 naming `limit` out of range', async ({ at, row }) => {
    for (const limit of [0, -1, 501, 'x', '1.5', '']) {
      const { status, body } = await call(server, 'any', at, { params: paramsOf(row), query: { limit } })
      expect({ limit, status, field: body.field }).toEqual({ limit, status: 400, field: 'limit' })
    }
  })
})
