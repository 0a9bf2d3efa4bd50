import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  eventually,
  rawAsk,
  serve,
  startEdge,
  startRawUpstream,
  startUpstream,
  type TestEdge,
  type TestUpstream,
} from './edge-fixture.ts'

let edge: TestEdge
let echo: TestUpstream
const upstreams: TestUpstream[] = []
const keep = (upstream: TestUpstream) => {
  upstreams.push(upstream)
  return upstream
}

beforeAll(async () => {
  edge = await startEdge()
  echo = keep(
    await startUpstream((request, response) => {
      const hash = createHash('sha256')
      let bytes = 0
      request.on('data', (part: Buffer) => {
        hash.update(part)
        bytes += part.length
      })
      request.on('end', () => {
        const { method, url, headers, rawHeaders } = request
        response.setHeader('x-app', 'yes')
        response.end(JSON.stringify({ method, url, headers, rawHeaders, bytes, sha256: hash.digest('hex') }))
      })
    }),
  )
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
    const answer = await edge.ask('echo.test', '/p?q=1', { headers })
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

  test('keeps the request id it came with', async () => {
    const answer = await edge.ask('echo.test', '/', { headers: { 'x-request-id': 'mine-1' } })
    expect(answer.headers['x-request-id']).toBe('mine-1')
    expect(JSON.parse(answer.body).headers['x-request-id']).toBe('mine-1')
  })

  test('is recorded with the fields of the contract', async () => {
    const path = `/recorded-${Date.now()}?token=1`
    await edge.ask('echo.test', path, { method: 'POST', body: 'hello', headers: { 'user-agent': 'tester/1' } })
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
    const head = await edge.ask('bodiless.test', '/', { method: 'HEAD', agent })
    expect([head.status, head.headers['content-length'], head.body]).toEqual([200, '5', ''])
    expect((await edge.ask('bodiless.test', '/204', { agent })).status).toBe(204)
    expect((await edge.ask('bodiless.test', '/304', { agent })).status).toBe(304)
    expect((await edge.ask('bodiless.test', '/', { agent })).body).toBe('hello')
    agent.destroy()
  })

  test('of HTTP/1.0 gets an answer without chunks and a closed connection', async () => {
    const upstream = keep(
      await startUpstream((_, response) => {
        response.write('one ')
        setTimeout(() => response.end('two'), 20)
      }),
    )
    await edge.route({ 'old.test': serve(upstream) })
    const text = await rawAsk(edge.port, 'GET / HTTP/1.0\r\nHost: old.test\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(text).not.toMatch(/transfer-encoding/i)
    expect(text.split('\r\n\r\n')[1]).toBe('one two')
  })

  test('that is pipelined gets its answers in order', async () => {
    const upstream = keep(
      await startUpstream((request, response) => {
        setTimeout(() => response.end(request.url), request.url === '/1' ? 60 : 0)
      }),
    )
    await edge.route({ 'pipe.test': serve(upstream) })
    const one = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: pipe.test\r\n${more}\r\n`
    const text = await rawAsk(edge.port, one('/1') + one('/2') + one('/3', 'Connection: close\r\n'))
    expect([...text.matchAll(/\r\n\r\n(\/\d)/g)].map((match) => match[1])).toEqual(['/1', '/2', '/3'])
  })

  test('with Expect: 100-continue sends its body after the upstream said so', async () => {
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

  test('gets 103 Early Hints before its answer', async () => {
    const upstream = keep(
      await startUpstream((_, response) => {
        response.writeEarlyHints({ link: '</a.css>; rel=preload' })
        response.end('ok')
      }),
    )
    await edge.route({ 'hints.test': serve(upstream) })
    const text = await rawAsk(edge.port, 'GET / HTTP/1.1\r\nHost: hints.test\r\nConnection: close\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a\.css>; rel=preload\r\n\r\nHTTP\/1\.1 200 OK\r\n/i)
  })
})

describe('streaming', () => {
  test('passes the first byte of an answer on before the last is sent', async () => {
    let finish = () => {}
    const upstream = keep(
      await startUpstream((_, response) => {
        response.write('first')
        finish = () => response.end('last')
      }),
    )
    await edge.route({ 'stream.test': serve(upstream) })
    const parts: string[] = []
    await new Promise<void>((resolve) => {
      http.get({ port: edge.port, headers: { host: 'stream.test' }, agent: false }, (response) => {
        response.on('data', (part) => {
          parts.push(String(part))
          if (parts.length === 1) finish()
        })
        response.on('end', resolve)
      })
    })
    expect(parts).toEqual(['first', 'last'])
  })

  test('passes the first byte of a request on before the last is sent, in chunks and with a length', async () => {
    let heard = (_: string) => {}
    const upstream = keep(
      await startUpstream((request, response) => {
        request.on('data', (part) => heard(String(part)))
        request.on('end', () => response.end('done'))
      }),
    )
    await edge.route({ 'upload.test': serve(upstream) })
    for (const headers of [{ host: 'upload.test' }, { host: 'upload.test', 'content-length': '9' }]) {
      const parts: string[] = []
      const answer = new Promise<string>((resolve) => {
        const request = http.request({ port: edge.port, method: 'POST', headers, agent: false }, (response) => {
          response.on('data', (part) => resolve(String(part)))
        })
        heard = (part) => {
          parts.push(part)
          if (parts.length === 1) request.end('last')
        }
        request.write('first')
      })
      expect(await answer).toBe('done')
      expect(parts).toEqual(['first', 'last'])
    }
  })

  test('carries big bodies both ways whole, in bounded memory', async () => {
    const piece = randomBytes(1_048_576)
    const pieces = 100
    const whole = createHash('sha256')
    for (let at = 0; at < pieces; at += 1) whole.update(piece)
    const sha256 = whole.digest('hex')
    const upstream = keep(
      await startUpstream((request, response) => {
        const hash = createHash('sha256')
        request.on('data', (part) => hash.update(part))
        request.on('end', () => {
          response.setHeader('x-sha256', hash.digest('hex'))
          let left = pieces
          const more = () => {
            while (left > 0) {
              left -= 1
              if (!response.write(piece)) {
                response.once('drain', more)
                return
              }
            }
            response.end()
          }
          more()
        })
      }),
    )
    await edge.route({ 'big.test': serve(upstream) })
    const pid = readFileSync(join(edge.folder, 'edge', 'edge.lock'), 'utf8')
    const rssMb = () => Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
    const before = rssMb()
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, rssMb())
    }, 10)
    const received = createHash('sha256')
    const seen = await new Promise((resolve, reject) => {
      const request = http.request(
        { port: edge.port, method: 'PUT', headers: { host: 'big.test' }, agent: false },
        (response) => {
          response.on('data', (part) => received.update(part))
          response.on('end', () => resolve(response.headers['x-sha256']))
        },
      )
      request.on('error', reject)
      let left = pieces
      const more = () => {
        while (left > 0) {
          left -= 1
          if (!request.write(piece)) {
            request.once('drain', more)
            return
          }
        }
        request.end()
      }
      more()
    })
    clearInterval(watch)
    expect(seen).toBe(sha256)
    expect(received.digest('hex')).toBe(sha256)
    expect(peak - before).toBeLessThan(pieces * 0.9)
  })

  test("a client that does not read stops the upstream, not the edge's memory", async () => {
    let sent = 0
    const upstream = keep(
      await startRawUpstream((socket) => {
        socket.once('data', () => {
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${1e9}\r\n\r\n`)
          const piece = Buffer.alloc(65_536)
          const more = () => {
            while (!socket.destroyed && sent < 1e8) {
              sent += piece.length
              if (!socket.write(piece)) {
                socket.once('drain', more)
                return
              }
            }
          }
          more()
        })
      }),
    )
    await edge.route({ 'lazy.test': serve(upstream) })
    const socket = net.connect(edge.port, '127.0.0.1')
    socket.pause()
    socket.write('GET / HTTP/1.1\r\nHost: lazy.test\r\n\r\n')
    const settled = await eventually(async () => {
      const before = sent
      await new Promise((resolve) => setTimeout(resolve, 300))
      return sent > 0 && sent === before && sent
    })
    expect(settled).toBeLessThan(5e7)
    socket.destroy()
  })
})

describe('websockets', () => {
  test('are passed through both ways, bytes that come early included', async () => {
    const upstream = keep(
      await startUpstream(
        () => {},
        (server) =>
          server.on('upgrade', (request, socket, first) => {
            socket.write(
              `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\nX-For: ${request.headers['x-forwarded-for']}\r\n\r\nhello`,
            )
            if (first.length > 0) socket.write(first)
            socket.pipe(socket)
          }),
      ),
    )
    await edge.route({ 'ws.test': serve(upstream) })
    const socket = net.connect(edge.port, '127.0.0.1')
    let text = ''
    socket.on('data', (part) => {
      text += part.toString('latin1')
    })
    socket.write('GET /chat HTTP/1.1\r\nHost: ws.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly')
    await eventually(() => text.includes('early'))
    socket.write('later')
    await eventually(() => text.includes('later'))
    expect(text).toMatch(
      /^HTTP\/1\.1 101 Switching Protocols\r\nX-For: 127\.0\.0\.1\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\nhello/,
    )
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.end()
    await closed
    expect(await edge.record('/chat')).toMatchObject({ status: 101 })
  })

  test('that the upstream refuses are answered like any request', async () => {
    const text = await rawAsk(
      edge.port,
      'GET / HTTP/1.1\r\nHost: echo.test\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n',
    )
    expect(text).toMatch(/^HTTP\/1\.1 200 OK/)
  })

  test('end on the one side when the other goes', async () => {
    let atUpstream: net.Socket | undefined
    const upstream = keep(
      await startUpstream(
        () => {},
        (server) =>
          server.on('upgrade', (_, socket) => {
            atUpstream = socket as net.Socket
            socket.on('error', () => {})
            socket.on('end', () => socket.end())
            socket.resume()
            socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
          }),
      ),
    )
    await edge.route({ 'wsend.test': serve(upstream) })
    const open = async () => {
      atUpstream = undefined
      const socket = net.connect(edge.port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write('GET / HTTP/1.1\r\nHost: wsend.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
      await new Promise((resolve) => socket.once('data', resolve))
      return socket
    }
    const first = await open()
    first.destroy()
    await eventually(() => atUpstream?.destroyed)
    const second = await open()
    const closed = new Promise((resolve) => second.once('close', resolve))
    atUpstream!.destroy()
    await closed
  })
})

describe('when something breaks', () => {
  test('a client that goes away ends the request at the upstream', async () => {
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

  test("an upstream that dies in the middle of an answer breaks the client's connection, whatever the framing", async () => {
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
    await expect(edge.ask('dies.test', '/sized')).rejects.toThrow()
    await expect(edge.ask('dies.test', '/chunked')).rejects.toThrow()
    expect(await edge.driver.switchCounters(`project-${upstream.id}`)).toEqual({ total: 2, failed: 2 })
  })

  test('an answer that ends with the connection is passed on whole', async () => {
    const upstream = keep(
      await startRawUpstream((socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\nall of it'))),
    )
    await edge.route({ 'toclose.test': serve(upstream) })
    const answer = await edge.ask('toclose.test')
    expect([answer.headers['transfer-encoding'], answer.body]).toEqual(['chunked', 'all of it'])
  })

  test('an upstream that cannot be understood is 502', async () => {
    const upstream = keep(await startRawUpstream((socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\n\r\n'))))
    await edge.route({ 'ssh.test': serve(upstream) })
    const answer = await edge.ask('ssh.test', '/', { headers: { accept: 'application/json' } })
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([502, 'upstream_unreachable'])
  })

  test('GET is tried once more on a fresh connection when the kept one was closed, POST is not sent twice', async () => {
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
    expect((await edge.ask('kept.test')).status).toBe(200)
    expect((await edge.ask('kept.test')).status).toBe(200)
    expect(seen).toEqual(['GET', 'GET', 'GET'])
    expect((await edge.ask('kept.test', '/', { method: 'POST', body: 'x' })).status).toBe(502)
    expect(seen.slice(3)).toEqual(['POST'])
  })

  test('an upstream that refuses connections gives way to its sibling, with the body of the request', async () => {
    const closed = keep(await startUpstream(() => {}))
    await closed.close()
    await edge.route({ 'sibling.test': serve(closed, echo) })
    for (let at = 0; at < 6; at += 1) {
      const answer = await edge.ask('sibling.test', '/', { method: 'POST', body: 'precious' })
      expect([answer.status, JSON.parse(answer.body).bytes]).toEqual([200, 8])
    }
    await edge.route({ 'refused.test': serve(closed) })
    expect((await edge.ask('refused.test')).status).toBe(502)
  })

  test('an answer that comes before the end of the request is passed on and ends it', async () => {
    const upstream = keep(
      await startUpstream((_, response) => {
        response.writeHead(413, { connection: 'close' }).end('too large')
      }),
    )
    await edge.route({ 'early.test': serve(upstream) })
    const text = await rawAsk(
      edge.port,
      `POST / HTTP/1.1\r\nHost: early.test\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(1_000)}`,
    )
    expect(text).toMatch(/^HTTP\/1\.1 413 /)
    expect(text).toMatch(/connection: close/)
  })
})

describe('what the edge says itself', () => {
  test('unknown hosts, disabled and failed projects get a plain page that loads nothing, or JSON', async () => {
    const projectId = 'plain'
    await edge.route({
      'off.test': { target: { kind: 'disabled', projectId } },
      'broken.test': { target: { kind: 'failed', projectId } },
    })
    for (const [host, status, code] of [
      ['nobody.test', 404, 'unknown_host'],
      ['off.test', 503, 'project_disabled'],
      ['broken.test', 502, 'project_failed'],
    ] as const) {
      const page = await edge.ask(host, '/<script>', { headers: { accept: 'text/html' } })
      expect([page.status, page.headers['content-type']]).toEqual([status, 'text/html; charset=utf-8'])
      expect(page.body).not.toMatch(/src=|href=|url\(|<script/)
      const json = await edge.ask(host, '/', { headers: { accept: 'application/json' } })
      expect([json.status, JSON.parse(json.body).code]).toEqual([status, code])
      const head = await edge.ask(host, '/', { method: 'HEAD' })
      expect([head.status, head.body]).toEqual([status, ''])
    }
  })

  test('a redirect target keeps path, query and port', async () => {
    await edge.route({ 'from.test': { target: { kind: 'redirect', to: 'www.to.test' } } })
    const answer = await edge.ask(`from.test:${edge.port}`, '/a?b=1', { method: 'POST', body: 'x' })
    expect([answer.status, answer.headers.location]).toEqual([308, `http://www.to.test:${edge.port}/a?b=1`])
  })

  test('ACME challenges are answered on every host', async () => {
    await edge.route({}, { challenges: { tok_1: 'tok_1.thumb' } })
    expect((await edge.ask('nobody.test', '/.well-known/acme-challenge/tok_1')).body).toBe('tok_1.thumb')
    expect((await edge.ask('nobody.test', '/.well-known/acme-challenge/tok_2')).status).toBe(404)
  })

  test('forwarded headers of a trusted proxy count', async () => {
    await edge.route({}, { trustedProxies: ['127.0.0.1'] })
    const headers = {
      'x-forwarded-for': '198.51.100.7',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'public.test',
      'x-real-ip': '198.51.100.7',
    }
    const answer = await edge.ask('echo.test', '/behind-proxy', { headers })
    expect(JSON.parse(answer.body).headers).toMatchObject({ ...headers, 'x-forwarded-for': '198.51.100.7, 127.0.0.1' })
    expect((await edge.record('/behind-proxy')).ip).toBe('198.51.100.7')
    await edge.route({}, { trustedProxies: [] })
  })
})
