import http from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  rawRequest,
  serve,
  startEchoUpstream,
  startEdge,
  startUpstream,
  type TestEdge,
  type TestUpstream,
} from '../drivers/edge/edge-fixture.ts'

let edge: TestEdge
let echo: TestUpstream
const upstreams: TestUpstream[] = []
const keep = (upstream: TestUpstream) => {
  upstreams.push(upstream)
  return upstream
}

beforeAll(async () => {
  edge = await startEdge()
  echo = keep(await startEchoUpstream())
  await edge.route({ 'echo.test': serve(echo) })
})
afterAll(async () => {
  await edge.end()
  await Promise.all(upstreams.map((upstream) => upstream.close()))
})

describe('a request through the edge', () => {
  test('reaches the upstream with X-Forwarded headers, the same Host and a request id, and without hop-by-hop headers', async () => {
    const headers = {
      'x-forwarded-for': '6.6.6.6',
      'x-real-ip': '6.6.6.6',
      'proxy-connection': 'x',
      te: 'trailers',
      cookie: 'a=b',
      'x-a': '1',
    }
    const answer = await edge.request('echo.test', '/p?q=1', { headers })
    const seen = JSON.parse(answer.body)
    expect(seen).toMatchObject({ method: 'GET', url: '/p?q=1' })
    expect(seen.headers).toEqual({
      host: 'echo.test',
      cookie: 'a=b',
      'x-a': '1',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'echo.test',
      'x-request-id': answer.headers['x-request-id'],
    })
    expect(answer.headers).toMatchObject({ 'x-app': 'yes' })
  })

  test('keeps the request id of the client', async () => {
    const answer = await edge.request('echo.test', '/', { headers: { 'x-request-id': 'mine-1' } })
    expect(answer.headers['x-request-id']).toBe('mine-1')
    expect(JSON.parse(answer.body).headers['x-request-id']).toBe('mine-1')
  })

  test('is recorded with the fields of the contract, without its query', async () => {
    const path = `/recorded-${Date.now()}`
    await edge.request('echo.test', `${path}?token=1`, { method: 'POST', body: 'hello', headers: { 'user-agent': 'tester/1' } })
    expect(await edge.record(path)).toEqual({
      id: expect.any(String),
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      ip: '127.0.0.1',
      method: 'POST',
      host: 'echo.test',
      path,
      status: 200,
      durationMs: expect.any(Number),
      bytesIn: 5,
      bytesOut: expect.any(Number),
      userAgent: 'tester/1',
      deploymentId: `deployment-${echo.id}`,
      projectId: `project-${echo.id}`,
      environment: null,
      service: null,
    })
  })

  test('with HEAD, 204 and 304 has no body and leaves the connection usable', async () => {
    const upstream = keep(
      await startUpstream((request, response) => {
        if (request.url === '/204') response.writeHead(204).end()
        else if (request.url === '/304') response.writeHead(304, { etag: '"a"' }).end()
        else response.writeHead(200, { 'content-length': '5' }).end(request.method === 'HEAD' ? undefined : 'hello')
      }),
    )
    await edge.route({ 'bodiless.test': serve(upstream) })
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const head = await edge.request('bodiless.test', '/', { method: 'HEAD', agent })
    expect([head.status, head.headers['content-length'], head.body]).toEqual([200, '5', ''])
    expect((await edge.request('bodiless.test', '/204', { agent })).status).toBe(204)
    expect((await edge.request('bodiless.test', '/304', { agent })).status).toBe(304)
    expect((await edge.request('bodiless.test', '/', { agent })).body).toBe('hello')
    agent.destroy()
  })

  test('of HTTP/1.0 gets a response without chunks and a closed connection', async () => {
    const upstream = keep(
      await startUpstream((_, response) => {
        response.write('one ')
        setTimeout(() => response.end('two'), 20)
      }),
    )
    await edge.route({ 'old.test': serve(upstream) })
    const text = await rawRequest(edge.port, 'GET / HTTP/1.0\r\nHost: old.test\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(text).not.toMatch(/transfer-encoding/i)
    expect(text.split('\r\n\r\n')[1]).toBe('one two')
  })

  test('pipelined gets the responses in order', async () => {
    const upstream = keep(
      await startUpstream((request, response) => {
        setTimeout(() => response.end(request.url), request.url === '/1' ? 60 : 0)
      }),
    )
    await edge.route({ 'pipe.test': serve(upstream) })
    const one = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: pipe.test\r\n${more}\r\n`
    const text = await rawRequest(edge.port, one('/1') + one('/2') + one('/3', 'Connection: close\r\n'))
    expect([...text.matchAll(/\r\n\r\n(\/\d)/g)].map((match) => match[1])).toEqual(['/1', '/2', '/3'])
  })

  test('with Expect: 100-continue sends its body after the upstream has accepted', async () => {
    const upstream = keep(
      await startUpstream(
        () => {},
        (server) =>
          server.on('checkContinue', (request, response) => {
            response.writeContinue()
            request.on('data', (part) => response.write(part)).on('end', () => response.end())
          }),
      ),
    )
    await edge.route({ 'expect.test': serve(upstream) })
    const order: string[] = []
    const body = await new Promise<string>((resolve, reject) => {
      const request = http.request({
        port: edge.port,
        method: 'POST',
        headers: { host: 'expect.test', expect: '100-continue', 'content-length': '4' },
        agent: false,
      })
      request.on('continue', () => {
        order.push('continue')
        request.end('body')
      })
      request.on('response', (response) => {
        order.push('response')
        response.on('data', (part) => resolve(String(part)))
      })
      request.on('error', reject)
      request.flushHeaders()
    })
    expect([order, body]).toEqual([['continue', 'response'], 'body'])
  })

  test('gets 103 Early Hints before the response', async () => {
    const upstream = keep(
      await startUpstream((_, response) => {
        response.writeEarlyHints({ link: '</a.css>; rel=preload' })
        response.end('ok')
      }),
    )
    await edge.route({ 'hints.test': serve(upstream) })
    const text = await rawRequest(edge.port, 'GET / HTTP/1.1\r\nHost: hints.test\r\nConnection: close\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a\.css>; rel=preload\r\n\r\nHTTP\/1\.1 200 OK\r\n/i)
  })
})

describe('responses of the edge itself', () => {
  test('unknown hosts, disabled and failed projects get a page without external resources, or JSON', async () => {
    const projectId = 'plain'
    await edge.route({
      'off.test': { target: { kind: 'disabled', projectId } },
      'broken.test': { target: { kind: 'failed', projectId } },
      'restored.test': { target: { kind: 'paused', projectId, reason: 'restore' } },
      'moved.test': { target: { kind: 'paused', projectId, reason: 'move' } },
      'started.test': { target: { kind: 'paused', projectId, reason: 'start' } },
    })
    for (const [host, status, code] of [
      ['unrouted.test', 404, 'unknown_host'],
      ['off.test', 503, 'project_disabled'],
      ['broken.test', 502, 'project_failed'],
      ['restored.test', 503, 'project_restoring'],
      ['moved.test', 503, 'project_moving'],
      ['started.test', 503, 'project_starting'],
    ] as const) {
      const page = await edge.request(host, '/<script>', { headers: { accept: 'text/html' } })
      expect([page.status, page.headers['content-type']]).toEqual([status, 'text/html; charset=utf-8'])
      expect(page.headers['retry-after']).toBe(/ing$/.test(code) ? '10' : undefined)
      expect(page.body).not.toMatch(/src=|href=|url\(|<script/)
      const json = await edge.request(host, '/', { headers: { accept: 'application/json' } })
      expect([json.status, JSON.parse(json.body).code]).toEqual([status, code])
      const head = await edge.request(host, '/', { method: 'HEAD' })
      expect([head.status, head.body]).toEqual([status, ''])
    }
  })

  test('a redirect target keeps path, query and port', async () => {
    await edge.route({ 'from.test': { target: { kind: 'redirect', to: 'www.to.test' } } })
    const answer = await edge.request(`from.test:${edge.port}`, '/a?b=1', { method: 'POST', body: 'x' })
    expect([answer.status, answer.headers.location]).toEqual([308, `http://www.to.test:${edge.port}/a?b=1`])
  })

  test('ACME challenges are answered on every host', async () => {
    await edge.route({}, { challenges: { tok_1: 'tok_1.thumb' } })
    expect((await edge.request('unrouted.test', '/.well-known/acme-challenge/tok_1')).body).toBe('tok_1.thumb')
    expect((await edge.request('unrouted.test', '/.well-known/acme-challenge/tok_2')).status).toBe(404)
  })

  test('forwarded headers of a trusted proxy are used', async () => {
    await edge.route({}, { trustedProxies: ['127.0.0.1'] })
    const headers = {
      'x-forwarded-for': '198.51.100.7',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'public.test',
      'x-real-ip': '198.51.100.7',
    }
    const answer = await edge.request('echo.test', '/behind-proxy', { headers })
    expect(JSON.parse(answer.body).headers).toMatchObject({ ...headers, 'x-forwarded-for': '198.51.100.7, 127.0.0.1' })
    expect((await edge.record('/behind-proxy')).ip).toBe('198.51.100.7')
    await edge.route({}, { trustedProxies: [] })
  })
})
