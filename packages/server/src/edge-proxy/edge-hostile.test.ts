import net from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  eventually,
  rawRequest,
  serve,
  startEdge,
  startRawUpstream,
  startUpstream,
  type TestEdge,
  type TestUpstream,
} from '../drivers/edge/edge-fixture.ts'

let edge: TestEdge
let upstream: TestUpstream
const seen: string[] = []

beforeAll(async () => {
  edge = await startEdge()
  upstream = await startUpstream((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    request.resume().on('end', () => response.end('ok'))
  })
  await edge.route({ 'host.test': serve(upstream) }, { limits: { headTimeoutMs: 800, requestIdleMs: 800, keepAliveMs: 800 } })
})
afterAll(async () => {
  await edge.end()
  await upstream.close()
})

const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]))

describe('request smuggling', () => {
  const inner = 'GET /smuggled HTTP/1.1\r\nHost: host.test\r\n\r\n'
  test.each([
    [
      'a length and chunks',
      `POST / HTTP/1.1\r\nHost: host.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    ],
    [
      'chunks and a length',
      `POST / HTTP/1.1\r\nHost: host.test\r\nTransfer-Encoding: chunked\r\nContent-Length: ${inner.length + 5}\r\n\r\n0\r\n\r\n${inner}`,
    ],
    ['two lengths', `POST / HTTP/1.1\r\nHost: host.test\r\nContent-Length: 0\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`],
    [
      'a disguised encoding',
      `POST / HTTP/1.1\r\nHost: host.test\r\nTransfer-Encoding: \x0bchunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n${inner}`,
    ],
    [
      'an encoding before its colon',
      `POST / HTTP/1.1\r\nHost: host.test\r\nTransfer-Encoding : chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n${inner}`,
    ],
    ['a folded length', `POST / HTTP/1.1\r\nHost: host.test\r\nX: y\r\n Content-Length: ${inner.length}\r\n\r\n${inner}`],
    ['a bare line feed', `POST / HTTP/1.1\r\nHost: host.test\nContent-Length: ${inner.length}\r\n\r\n${inner}`],
    ['chunk sizes with a sign', `POST / HTTP/1.1\r\nHost: host.test\r\nTransfer-Encoding: chunked\r\n\r\n+0\r\n\r\n${inner}`],
    [
      'chunk lines with a bare line feed',
      `POST / HTTP/1.1\r\nHost: host.test\r\nTransfer-Encoding: chunked\r\n\r\n0\n\n${inner}`,
    ],
  ])('with %s is refused, and nothing after it is served', async (_, text) => {
    seen.length = 0
    expect(statusesIn(await rawRequest(edge.port, text))).toEqual([400])
    expect(seen.filter((line) => line.includes('smuggled'))).toEqual([])
  })

  test('in chunk extensions and trailers does not reach the upstream', async () => {
    let received = ''
    const raw = await startRawUpstream((socket) =>
      socket.on('data', (part) => {
        received += part.toString('latin1')
        if (received.endsWith('0\r\n\r\n')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      }),
    )
    await edge.route({ 'raw.test': serve(raw) })
    const text =
      'POST / HTTP/1.1\r\nHost: raw.test\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3;evil="x"\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n'
    expect(statusesIn(await rawRequest(edge.port, text))).toEqual([200])
    expect(received.split('\r\n\r\n').slice(1).join('\r\n\r\n')).toBe('3\r\nabc\r\n0\r\n\r\n')
    expect(received).not.toMatch(/evil|Trailer/)
    await raw.close()
  })

  test('by an upstream response longer than announced gives no second response', async () => {
    const raw = await startRawUpstream((socket) =>
      socket.on('data', () =>
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'),
      ),
    )
    await edge.route({ 'more.test': serve(raw) })
    for (let at = 0; at < 3; at += 1) expect((await edge.request('more.test')).body).toBe('ok')
    await raw.close()
  })
})

describe('a slow or large request', () => {
  test('with a too large head is 431', async () => {
    expect(
      statusesIn(await rawRequest(edge.port, `GET / HTTP/1.1\r\nHost: host.test\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)),
    ).toEqual([431])
    expect(statusesIn(await rawRequest(edge.port, `GET /${'x'.repeat(70_000)}`))).toEqual([431])
  })

  test('with a slow head is 408 after the time limit, however often a byte arrives', async () => {
    const socket = net.connect(edge.port, '127.0.0.1')
    let text = ''
    socket.on('data', (part) => {
      text += part
    })
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nHost: host.test\r\n')
    const drip = setInterval(() => socket.write('X: y\r\n'), 50)
    await eventually(() => text.includes('408'))
    clearInterval(drip)
    socket.destroy()
  })

  test('that does not arrive at all closes the connection', async () => {
    expect(await rawRequest(edge.port, '')).toBe('')
    expect(statusesIn(await rawRequest(edge.port, 'GET / HTTP/1.1\r\nHost: host.test\r\n\r\n'))).toEqual([200])
  })

  test('with an incomplete body is 408', async () => {
    expect(
      statusesIn(await rawRequest(edge.port, 'POST / HTTP/1.1\r\nHost: host.test\r\nContent-Length: 10\r\n\r\nhalf')),
    ).toEqual([408])
  })

  test('to an upstream that never answers is 504', async () => {
    const silent = await startUpstream(() => {})
    await edge.route({ 'silent.test': serve(silent) }, { limits: { responseHeadMs: 300 } })
    expect((await edge.request('silent.test')).status).toBe(504)
    await edge.route({}, { limits: {} })
    await silent.close()
  })

  test('with an invalid head is 400, and the edge keeps serving', async () => {
    for (const text of [
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'GET\r\n\r\n',
      '\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\nx\r\n\r\n',
    ])
      expect([400, 505]).toContain(statusesIn(await rawRequest(edge.port, text))[0])
    expect((await edge.request('host.test')).status).toBe(200)
  })

  test('of random bytes, a thousand times, leaves the edge serving without a log line', async () => {
    const pieces = [
      'GET / HTTP/1.1\r\n',
      'Host: host.test\r\n',
      'Content-Length: 5\r\n',
      'Transfer-Encoding: chunked\r\n',
      '\r\n',
      '5\r\nhello\r\n',
      '0\r\n\r\n',
      '\0',
      '\n',
      'Connection: upgrade\r\nUpgrade: x\r\n',
      'x'.repeat(300),
    ]
    const request = async (seed: number) => {
      let text = ''
      for (let at = 0; at < 8; at += 1) text += pieces[(seed * 7 + at * at * 13 + (seed >> at)) % pieces.length]
      const socket = net.connect(edge.port, '127.0.0.1')
      socket.on('error', () => {})
      socket.resume()
      socket.end(text)
      await new Promise((resolve) => socket.once('close', resolve))
    }
    for (let from = 0; from < 1_000; from += 50) await Promise.all(Array.from({ length: 50 }, (_, at) => request(from + at)))
    expect((await edge.request('host.test')).status).toBe(200)
    const { readFile } = await import('node:fs/promises')
    expect(await readFile(`${edge.folder}/edge/edge.log`, 'utf8')).toBe('')
  })
})
