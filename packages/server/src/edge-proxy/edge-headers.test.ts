import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rawRequest, serve, startEdge, startRawUpstream, type TestEdge, type TestUpstream } from '../drivers/edge/edge-fixture.ts'
import type { EdgeRule } from './protocol/edge-table.ts'

let edge: TestEdge
let upstream: TestUpstream
let received = ''

beforeAll(async () => {
  edge = await startEdge()
  upstream = await startRawUpstream((socket) =>
    socket.on('data', (part) => {
      received += part.toString('latin1')
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    }),
  )
  await edge.route({ 'host.test': serve(upstream), 'guarded.test': { ...serve(upstream), rules: [noBots] } })
})
afterAll(async () => {
  await edge.end()
  await upstream.close()
})

const noBots: EdgeRule = { id: 'bots', kind: 'ban', enabled: true, config: { userAgents: ['badbot'] } }

/** The status of the first response, and what the upstream received. */
async function send(lines: string[], body = '', host = 'host.test') {
  received = ''
  const text = await rawRequest(
    edge.port,
    `${lines[0]}\r\nHost: ${host}\r\nConnection: close\r\n${lines.slice(1).join('\r\n')}\r\n\r\n${body}`,
  )
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]), received }
}

describe('Content-Length', () => {
  test.each(['3\xa0', '\xa03', '3\x85', '3,', '3;', '3 3', '\xd9\xa3', '3e0', '0b11', '-0'])('of %j is 400', async (length) => {
    expect(await send(['POST / HTTP/1.1', `Content-Length: ${length}`], 'abc')).toEqual({ status: 400, received: '' })
  })

  test('is forwarded as the parsed number, never as the received text', async () => {
    const { status, received } = await send(['POST / HTTP/1.1', 'Content-Length: \t 0003 \t'], 'abc')
    expect(status).toBe(200)
    expect(received).toMatch(/\r\ncontent-length: 3\r\n/)
    expect(received).not.toContain('0003')
    expect(received.endsWith('\r\n\r\nabc')).toBe(true)
  })

  test('of zero is forwarded, since some servers require a length with every POST', async () => {
    expect((await send(['POST / HTTP/1.1', 'Content-Length: 0'])).received).toMatch(/\r\ncontent-length: 0\r\n/)
  })

  test('of an upstream response is forwarded as a number', async () => {
    const odd = await startRawUpstream((socket) =>
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length:  0002 \r\n\r\nok')),
    )
    const broken = await startRawUpstream((socket) =>
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\xa0\r\n\r\nok', 'latin1')),
    )
    await edge.route({ 'odd.test': serve(odd), 'broken.test': serve(broken) })
    expect((await edge.request('odd.test')).headers['content-length']).toBe('2')
    expect((await edge.request('broken.test')).status).toBe(502)
    await odd.close()
    await broken.close()
  })
})

describe('forwarding headers', () => {
  const forged = [
    'X-Forwarded-For',
    'X-Forwarded-Proto',
    'X-Forwarded-Host',
    'X-Forwarded-Port',
    'X-Forwarded-User',
    'X-Forwarded-Client-Cert',
    'X-Forwarded-Uri',
    'x-forwarded-anything-new',
    'X-Forwarded',
    'X-Original-URL',
    'X-Original-Host',
    'X-Original-Forwarded-For',
    'X-Original-anything',
    'X-Rewrite-URL',
    'X-Real-IP',
    'Forwarded',
    'True-Client-IP',
    'X-Client-IP',
    'Client-IP',
    'CF-Connecting-IP',
    'CF-Connecting-IPv6',
    'CF-Pseudo-IPv4',
    'WL-Proxy-Client-IP',
    'Proxy-Client-IP',
    'Fly-Client-IP',
    'DO-Connecting-IP',
    'X-Azure-ClientIP',
    'X-Originating-IP',
    'X-ProxyUser-Ip',
    'X-AppEngine-User-IP',
    'X-NF-Client-Connection-IP',
    'X-Envoy-External-Address',
    'X-Vercel-Forwarded-For',
    'Forwarded-For',
    'Proxy',
    'X-Middleware-Subrequest',
    'X_Forwarded_For',
    'X-Forwarded_User',
    'x_original_url',
    'X_REWRITE-URL',
    'X.Forwarded.For',
    'X_Real_IP',
    'Content_Length',
    'Transfer_Encoding',
    'X_HTTP_Method_Override',
  ]

  test.each(forged)('%s of a client does not reach the upstream', async (name) => {
    const { status, received } = await send(['GET / HTTP/1.1', `${name}: forged`])
    expect(status).toBe(200)
    expect(received).not.toContain('forged')
    expect(received).toContain('\r\nx-forwarded-for: 127.0.0.1\r\n')
  })

  test.each(['X-Server-IP', 'Zip', 'X-Proxy', 'Proxy-Status', 'X-Skip', 'Client'])(
    '%s is not a forwarding header and is forwarded',
    async (name) => {
      expect((await send(['GET / HTTP/1.1', `${name}: kept`])).received).toContain('kept')
    },
  )

  test('set by the edge are kept, whatever the Connection header names', async () => {
    const named = 'close, X-Forwarded-For, x-forwarded-proto, X-Forwarded-Host, X-Request-Id, Content-Length, Host'
    const { received } = await send(['POST / HTTP/1.1', `Connection: ${named}`, 'Content-Length: 2'], 'ab')
    for (const line of [
      'x-forwarded-for: 127.0.0.1',
      'x-forwarded-proto: http',
      'x-forwarded-host: host.test',
      'content-length: 2',
    ])
      expect(received).toContain(`\r\n${line}\r\n`)
    expect(received).toMatch(/\r\nx-request-id: \w+\r\n/)
  })

  test('with another path are not accepted even from a trusted proxy', async () => {
    await edge.route({}, { trustedProxies: ['127.0.0.1'] })
    const lines = [
      'GET / HTTP/1.1',
      'X-Original-URL: /forged',
      'X-Rewrite-Url: /forged',
      'X_Forwarded_For: forged',
      'X-Forwarded-Port: 8443',
    ]
    const { received } = await send(lines)
    await edge.route({}, { trustedProxies: [] })
    expect(received).not.toContain('forged')
    expect(received).toContain('X-Forwarded-Port: 8443')
  })
})

test('a ban on a user agent sees every User-Agent that is sent', async () => {
  for (const lines of [
    ['User-Agent: BadBot', 'User-Agent: fine'],
    ['User-Agent: fine', 'User-Agent: BadBot'],
  ])
    expect(await send(['GET / HTTP/1.1', ...lines], '', 'guarded.test')).toEqual({ status: 403, received: '' })
})

describe('an ambiguous request head', () => {
  test.each([
    ['an encoding with a no-break space', ['POST / HTTP/1.1', 'Transfer-Encoding: chunked\xa0']],
    ['a quoted encoding', ['POST / HTTP/1.1', 'Transfer-Encoding: "chunked"']],
    ['an encoding and its end', ['POST / HTTP/1.1', 'Transfer-Encoding: chunked, identity']],
    ['an encoding in HTTP/1.0', ['POST / HTTP/1.0', 'Transfer-Encoding: chunked']],
    ['a folded encoding', ['POST / HTTP/1.1', 'Transfer-Encoding:', ' chunked']],
    ['a second Host', ['GET / HTTP/1.1', 'Host: other.test']],
    ['a Host with a no-break space', ['GET http://host.test\xa0/ HTTP/1.1']],
  ])('with %s is refused', async (_, lines) => {
    const { status, received } = await send(lines, '0\r\n\r\n')
    expect([400, 501]).toContain(status)
    expect(received).toBe('')
  })

  test('in absolute form is forwarded in origin form, for the host that it names', async () => {
    const { received } = await send(['GET http://host.test/x HTTP/1.1'], '', 'other.test')
    expect(received.startsWith('GET /x HTTP/1.1\r\nhost: host.test\r\n')).toBe(true)
    expect(received).not.toContain('other.test')
  })
})
