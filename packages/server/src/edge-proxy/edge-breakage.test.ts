import net from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  eventually,
  rawRequest,
  serve,
  startEchoUpstream,
  startEdge,
  startRawUpstream,
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

describe('failures of clients and upstreams', () => {
  test('a disconnected client ends the request at the upstream', async () => {
    let gone = false
    const upstream = keep(
      await startUpstream((request, response) => {
        response.on('close', () => {
          gone = true
        })
        if (request.url === '/stream') response.write('x')
      }),
    )
    await edge.route({ 'gone.test': serve(upstream) })
    for (const path of ['/silent', '/stream']) {
      gone = false
      const socket = net.connect(edge.port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write(`GET ${path} HTTP/1.1\r\nHost: gone.test\r\n\r\n`)
      await new Promise((resolve) => setTimeout(resolve, 100))
      socket.destroy()
      await eventually(() => gone)
    }
    expect((await edge.record('/silent')).status).toBe(499)
  })

  test('an upstream that fails during a response closes the client connection, with any framing', async () => {
    const upstream = keep(
      await startRawUpstream((socket) => {
        socket.once('data', (request) => {
          const chunked = request.includes('/chunked')
          socket.write(
            `HTTP/1.1 200 OK\r\n${chunked ? 'Transfer-Encoding: chunked\r\n\r\n5\r\nhel' : 'Content-Length: 10\r\n\r\nhello'}`,
            () => socket.destroy(),
          )
        })
      }),
    )
    await edge.route({ 'dies.test': serve(upstream) })
    await expect(edge.request('dies.test', '/sized')).rejects.toThrow()
    await expect(edge.request('dies.test', '/chunked')).rejects.toThrow()
    expect(await edge.driver.requestTotals(`project-${upstream.id}`)).toEqual({ total: 2, failed: 2 })
  })

  test('a response that ends with the connection is forwarded completely', async () => {
    const upstream = keep(
      await startRawUpstream((socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\nall of it'))),
    )
    await edge.route({ 'toclose.test': serve(upstream) })
    const answer = await edge.request('toclose.test')
    expect([answer.headers['transfer-encoding'], answer.body]).toEqual(['chunked', 'all of it'])
  })

  test('an upstream with an invalid response is 502', async () => {
    const upstream = keep(await startRawUpstream((socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\n\r\n'))))
    await edge.route({ 'ssh.test': serve(upstream) })
    const answer = await edge.request('ssh.test', '/', { headers: { accept: 'application/json' } })
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([502, 'upstream_unreachable'])
  })

  test('GET is retried on a fresh connection if the kept one was closed, POST is not sent twice', async () => {
    const seen: string[] = []
    const upstream = keep(
      await startRawUpstream((socket) => {
        let requests = 0
        socket.on('data', (text) => {
          requests += 1
          seen.push(String(text).split(' ')[0]!)
          if (requests === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
          else socket.destroy()
        })
      }),
    )
    await edge.route({ 'kept.test': serve(upstream) })
    expect((await edge.request('kept.test')).status).toBe(200)
    expect((await edge.request('kept.test')).status).toBe(200)
    expect(seen).toEqual(['GET', 'GET', 'GET'])
    expect((await edge.request('kept.test', '/', { method: 'POST', body: 'x' })).status).toBe(502)
    expect(seen.slice(3)).toEqual(['POST'])
  })

  test('if an upstream refuses connections, another one gets the request with its body', async () => {
    const closed = keep(await startUpstream(() => {}))
    await closed.close()
    await edge.route({ 'sibling.test': serve(closed, echo) })
    for (let at = 0; at < 6; at += 1) {
      const answer = await edge.request('sibling.test', '/', { method: 'POST', body: 'precious' })
      expect([answer.status, JSON.parse(answer.body).bytes]).toEqual([200, 8])
    }
    await edge.route({ 'refused.test': serve(closed) })
    expect((await edge.request('refused.test')).status).toBe(502)
  })

  test('a response before the end of the request is forwarded and ends the request', async () => {
    const upstream = keep(
      await startUpstream((_, response) => {
        response.writeHead(413, { connection: 'close' }).end('too large')
      }),
    )
    await edge.route({ 'early.test': serve(upstream) })
    const text = await rawRequest(
      edge.port,
      `POST / HTTP/1.1\r\nHost: early.test\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(1_000)}`,
    )
    expect(text).toMatch(/^HTTP\/1\.1 413 /)
    expect(text).toMatch(/connection: close/)
  })
})
