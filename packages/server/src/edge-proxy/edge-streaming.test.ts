import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { join } from 'node:path'
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

describe('streaming', () => {
  test('forwards the first byte of a response before the last is sent', async () => {
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

  test('forwards the first byte of a request before the last is sent, chunked and with a length', async () => {
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

  test('forwards big bodies in both directions, in bounded memory', async () => {
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

  test('a client that does not read pauses the upstream, without using memory of the edge', async () => {
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
  test('are forwarded in both directions, with bytes that arrive early', async () => {
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

  test('that the upstream refuses are answered like other requests', async () => {
    const text = await rawRequest(
      edge.port,
      'GET / HTTP/1.1\r\nHost: echo.test\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n',
    )
    expect(text).toMatch(/^HTTP\/1\.1 200 OK/)
  })

  test('are closed on one side when the other closes', async () => {
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
