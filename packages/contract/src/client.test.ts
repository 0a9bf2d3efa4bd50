import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Type } from 'typebox'
import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from 'vitest'
import { ApiError, type CallInput, createClient, pathOf } from './client.ts'
import { contract } from './index.ts'
import { type AnyRoute, route } from './route.ts'
import { data } from './shape.ts'

const rows = {
  get: route('GET /things/:owner/:name', {
    summary: 'One thing',
    permission: 'project:read',
    query: Type.Object({
      deep: Type.Optional(Type.Boolean()),
      limit: Type.Optional(Type.Integer()),
      tag: Type.Optional(Type.Array(Type.String())),
    }),
    returns: data(Type.Object({ name: Type.String() })),
  }),
  put: route('PUT /things/:name', {
    summary: 'Store one',
    permission: 'project:write',
    body: Type.Object({ size: Type.Integer() }),
    returns: data(Type.Object({ name: Type.String() })),
  }),
  remove: route('DELETE /things/:name', { summary: 'Remove one', permission: 'project:admin', status: 204 }),
  send: route('POST /things', {
    summary: 'Bytes',
    permission: 'project:write',
    upload: { contentType: 'application/gzip', limitBytes: 1000 },
    returns: data(Type.Object({ sizeBytes: Type.Integer() })),
  }),
  watch: route('GET /things/:name/stream', {
    summary: 'As it goes',
    permission: 'project:read',
    stream: { snapshot: Type.Object({ name: Type.String() }), progress: Type.Object({ bytesDone: Type.Integer() }) },
  }),
}

describe('pathOf', () => {
  test('encodes parameters, so that none can change the path', () => {
    expect(pathOf(rows.get, { owner: 'a/b', name: 'x y?#%é' })).toBe('/things/a%2Fb/x%20y%3F%23%25%C3%A9')
  })

  test('refuses missing parameters and those that a URL parser would remove', () => {
    for (const name of ['', '.', '..']) expect(() => pathOf(rows.put, { name })).toThrow(TypeError)
    expect(() => pathOf(rows.get, { owner: 'a' })).toThrow('GET /things/:owner/:name')
  })

  test('writes booleans and numbers as text, repeats arrays, and omits absent values', () => {
    const query = { deep: false, limit: 20, tag: ['a', 'b&c'], cursor: undefined, other: null }
    expect(pathOf(rows.get, { owner: 'a', name: 'b' }, query)).toBe('/things/a/b?deep=false&limit=20&tag=a&tag=b%26c')
  })

  test('writes no question mark for an empty query', () => {
    expect(pathOf(rows.get, { owner: 'a', name: 'b' }, { deep: undefined })).toBe('/things/a/b')
  })
})

describe('the client, with a server on loopback', () => {
  let answer: (request: IncomingMessage, body: Buffer, response: ServerResponse) => void
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    answer(request, Buffer.concat(pieces), response)
  })
  let baseUrl: string
  const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

  beforeEach(async () => {
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterEach(async () => {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  })

  test('sends token, organisation, body and its own headers to /api, and returns the typed reply', async () => {
    let seen: unknown
    answer = ({ method, url, headers }, body, response) => {
      seen = [
        method,
        url,
        headers.authorization,
        headers['x-organization-id'],
        headers['content-type'],
        headers['x-from'],
        `${body}`,
      ]
      json(response, 200, { data: { name: 'a' } })
    }
    const client = createClient({
      baseUrl: `${baseUrl}/`,
      token: 'brt_x',
      organizationId: 'org_x',
      headers: { 'x-from': 'test' },
    })
    const reply = await client.call(rows.put, { params: { name: 'a' }, body: { size: 1 } })
    expectTypeOf(reply.data).toEqualTypeOf<{ name: string }>()
    expectTypeOf(reply.warnings).toEqualTypeOf<readonly string[] | undefined>()
    expect(reply).toEqual({ data: { name: 'a' } })
    expect(seen).toEqual(['PUT', '/api/things/a', 'Bearer brt_x', 'org_x', 'application/json', 'test', '{"size":1}'])
  })

  test('passes the warnings of a reply to onWarnings and returns them', async () => {
    const warnings = ['Unknown field ignored: sise']
    answer = (_request, _body, response) => json(response, 200, { data: { name: 'a' }, warnings })
    const reported: unknown[] = []
    const { call } = createClient({ baseUrl, onWarnings: (given) => reported.push(given) })
    const reply = await call(rows.put, { params: { name: 'a' }, body: { size: 1 } })
    expect([reply.warnings, reported]).toEqual([warnings, [warnings]])
  })

  test('sends neither body nor content type if there is none, and returns undefined for 204', async () => {
    let type: string | undefined = 'unset'
    answer = ({ headers }, _, response) => {
      type = headers['content-type']
      response.writeHead(204).end()
    }
    expect(await createClient({ baseUrl }).call(rows.remove, { params: { name: 'a' } })).toBeUndefined()
    expect(type).toBeUndefined()
  })

  test('uploads a stream with the content type of the row', async () => {
    answer = ({ headers }, body, response) =>
      json(response, headers['content-type'] === 'application/gzip' ? 200 : 415, { data: { sizeBytes: body.length } })
    const upload = new Blob([new Uint8Array(100_000)]).stream()
    expect(await createClient({ baseUrl }).call(rows.send, { upload })).toEqual({ data: { sizeBytes: 100_000 } })
  })

  test('throws the error of the reply with the request id', async () => {
    const problem = { field: 'size', message: 'must be an integer' }
    answer = (_, __, response) =>
      json(
        response,
        400,
        { error: 'size is wrong', code: 'validation_failed', field: 'size', details: [problem] },
        { 'x-request-id': 'r1' },
      )
    const thrown = await createClient({ baseUrl })
      .call(rows.get, { params: { owner: 'a', name: 'b' } })
      .catch((error) => error)
    expect(thrown).toBeInstanceOf(ApiError)
    expect(thrown).toMatchObject({
      status: 400,
      code: 'validation_failed',
      message: 'size is wrong',
      field: 'size',
      details: [problem],
      requestId: 'r1',
    })
  })

  test('reports the missing permission and when to try again', async () => {
    answer = (_, __, response) =>
      json(response, 429, { error: 'slow down', code: 'rate_limited', permission: 'project:read' }, { 'retry-after': '17' })
    const call = createClient({ baseUrl }).call(rows.remove, { params: { name: 'a' } })
    await expect(call).rejects.toMatchObject({ retryAfterSeconds: 17, permission: 'project:read' })
  })

  test('an HTML page of a proxy is the error unreadable_reply with its status, for 200 and 502', async () => {
    for (const status of [200, 502]) {
      answer = (_, __, response) => response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>hello</h1>')
      const client = createClient({ baseUrl })
      const expected = { status, code: 'unreadable_reply' }
      await expect(client.call(rows.remove, { params: { name: 'a' } })).rejects.toMatchObject(expected)
      await expect(client.stream(rows.watch, { params: { name: 'a' } }).next()).rejects.toMatchObject(expected)
    }
  })

  test('streams typed events with their ids, and sends Last-Event-ID', async () => {
    answer = ({ headers }, _, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
      response.write(`: open\n\nevent: snapshot\ndata: {"name":"${headers['last-event-id']} ${headers.accept}"}\n\n`)
      response.end('id: 5\nevent: progress\ndata: {"bytesDone":3}\n\n')
    }
    const seen: unknown[] = []
    for await (const event of createClient({ baseUrl }).stream(rows.watch, { params: { name: 'a' }, lastEventId: '4' })) {
      if (event.event === 'progress') expectTypeOf(event.data).toEqualTypeOf<{ bytesDone: number }>()
      seen.push(event)
    }
    expect(seen).toEqual([
      { id: null, event: 'snapshot', data: { name: '4 text/event-stream' } },
      { id: '5', event: 'progress', data: { bytesDone: 3 } },
    ])
  })

  test('an abort ends an open stream', async () => {
    answer = (_, __, response) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: snapshot\ndata: {"name":"a"}\n\n')
    const abort = new AbortController()
    const stream = createClient({ baseUrl }).stream(rows.watch, { params: { name: 'a' }, abort: abort.signal })
    await stream.next()
    abort.abort()
    await expect(stream.next()).rejects.toMatchObject({ name: 'AbortError' })
  })
})

test('call and stream require an input only if the row needs one', async () => {
  const requested: string[] = []
  const answer = async (url: string) => {
    requested.push(url)
    return new Response('{}')
  }
  const { call } = createClient({ baseUrl: '', fetch: answer })
  await call(contract.gitHost.connect)
  await call(contract.backups.protectRun, { params: { runId: 'bkr_1' } })
  await call(contract.backups.listRuns, { params: { projectId: 'prj_1' }, query: { limit: 5 } })
  expect(requested).toEqual([
    '/api/gitprovider/connect',
    '/api/backup-runs/bkr_1/protect',
    '/api/projects/prj_1/backup-runs?limit=5',
  ])

  type Missing<T extends AnyRoute, I> = I extends CallInput<T> ? false : true
  expectTypeOf<Missing<typeof contract.backups.protectRun, object>>().toEqualTypeOf<true>()
  expectTypeOf<Missing<typeof contract.backups.applyRestore, { params: { restoreId: string } }>>().toEqualTypeOf<true>()
  expectTypeOf<
    Missing<typeof contract.notifications.createChannel, { body: { kind: 'fax'; label: string } }>
  >().toEqualTypeOf<true>()
  expectTypeOf<
    Missing<typeof contract.notifications.createChannel, { body: { kind: 'email'; label: string } }>
  >().toEqualTypeOf<false>()
})
