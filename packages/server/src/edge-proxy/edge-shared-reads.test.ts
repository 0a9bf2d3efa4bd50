import { createHash, randomBytes } from 'node:crypto'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  eventually,
  serve,
  startEchoUpstream,
  startEdge,
  startRawUpstream,
  startUpstream,
  type TestEdge,
  type TestUpstream,
} from '../drivers/edge/edge-fixture.ts'
import { acceptShared, owned, type SharedReader } from './connection/accept.ts'

/** All plain clients are read into one buffer: nothing that a connection keeps may change with another client's bytes. */
let edge: TestEdge
const upstreams: TestUpstream[] = []
const sockets: net.Socket[] = []
const keep = (upstream: TestUpstream) => {
  upstreams.push(upstream)
  return upstream
}

beforeAll(async () => {
  edge = await startEdge()
  await edge.route({ 'echo.test': serve(keep(await startEchoUpstream())) })
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await edge.end()
  await Promise.all(upstreams.map((upstream) => upstream.close()))
})

interface Client {
  socket: net.Socket
  received(): string
}

async function client(): Promise<Client> {
  const socket = net.connect(edge.port, '127.0.0.1')
  sockets.push(socket)
  const parts: Buffer[] = []
  socket.on('data', (part) => parts.push(part))
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  return { socket, received: () => Buffer.concat(parts).toString('latin1') }
}

/** Fills the edge's read buffer with other bytes, on another connection, and waits until the edge has read them. */
async function overwrite(): Promise<void> {
  const { status, body } = await edge.request('echo.test', '/overwrite', { method: 'POST', body: Buffer.alloc(200_000, '!') })
  expect([status, JSON.parse(body).bytes]).toEqual([200, 200_000])
}

const echoOf = ({ received }: Client) =>
  eventually(() => /\r\n\r\n(\{.*\})/s.exec(received())?.[1]).then((text) => JSON.parse(text))

describe('bytes of other clients do not reach', () => {
  test('a head that arrives in pieces', async () => {
    const slow = await client()
    slow.socket.write('GET /mine HTTP/1.1\r\nHost: echo.test\r\nX-Own: fir')
    await overwrite()
    slow.socket.write('st\r\nX-Other: sec')
    await overwrite()
    slow.socket.write('ond\r\n\r\n')
    const { url, headers } = await echoOf(slow)
    expect([url, headers['x-own'], headers['x-other']]).toEqual(['/mine', 'first', 'second'])
  })

  test('a pipelined request that waits for the response before it', async () => {
    let respond: (() => void) | undefined
    const upstream = await startUpstream((request, response) => {
      if (request.url === '/first') respond = () => response.end('done')
      else response.end(`second is ${request.url}`)
    })
    await edge.route({ 'queue.test': serve(keep(upstream)) })
    const pipelining = await client()
    const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: queue.test\r\n\r\n`
    pipelining.socket.write(request('/first') + request('/own-path'))
    const answer = await eventually(() => respond)
    await overwrite()
    answer()
    await eventually(() => pipelining.received().includes('second is /own-path'))
  })

  test('a body whose upstream reads it late, sized and chunked', async () => {
    const body = randomBytes(3_000_000)
    for (const framing of ['sized', 'chunked'] as const) {
      let proceed: (() => void) | undefined
      const upstream = await startUpstream((request, response) => {
        const hash = createHash('sha256')
        proceed = () => {
          request.on('data', (part: Buffer) => hash.update(part))
          request.on('end', () => response.end(JSON.stringify({ sha256: hash.digest('hex') })))
        }
      })
      await edge.route({ 'late.test': serve(keep(upstream)) })
      const sender = await client()
      const length = framing === 'sized' ? `Content-Length: ${body.length}` : 'Transfer-Encoding: chunked'
      sender.socket.write(`POST / HTTP/1.1\r\nHost: late.test\r\n${length}\r\n\r\n`)
      for (let at = 0; at < body.length; at += 10_000) {
        const piece = body.subarray(at, at + 10_000)
        if (framing === 'chunked') sender.socket.write(`${piece.length.toString(16)}\r\n`)
        sender.socket.write(piece)
        if (framing === 'chunked') sender.socket.write('\r\n')
      }
      if (framing === 'chunked') sender.socket.write('0\r\n\r\n')
      const begin = await eventually(() => proceed)
      await overwrite()
      begin()
      expect(await echoOf(sender)).toEqual({ sha256: createHash('sha256').update(body).digest('hex') })
    }
  })

  test('the first bytes of an upgraded connection', async () => {
    let open: (() => void) | undefined
    const tunnelled: Buffer[] = []
    const upstream = await startRawUpstream((socket) => {
      socket.once('data', () => {
        socket.on('data', (bytes: Buffer) => tunnelled.push(bytes))
        open = () => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
      })
    })
    await edge.route({ 'tunnel.test': serve(keep(upstream)) })
    const { socket } = await client()
    socket.write('GET / HTTP/1.1\r\nHost: tunnel.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly bytes')
    const accept = await eventually(() => open)
    await overwrite()
    accept()
    await eventually(() => Buffer.concat(tunnelled).toString() === 'early bytes')
  })
})

test('sockets of plain clients read into one buffer, and owned bytes are a copy of it', async () => {
  const server = net.createServer()
  const [memories, texts]: [Set<ArrayBufferLike>, string[]] = [new Set(), []]
  acceptShared(server, (socket: net.Socket, reader?: SharedReader) => {
    sockets.push(socket)
    if (!reader) throw new Error('the socket has no reader')
    reader.onBytes = (bytes) => {
      memories.add(bytes.buffer)
      texts.push(String(owned(bytes)))
      expect(owned(bytes).buffer).not.toBe(bytes.buffer)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo
  for (const text of ['one', 'two']) sockets.push(net.connect(port, '127.0.0.1').end(text))
  await eventually(() => texts.length === 2)
  server.close()
  expect([memories.size, texts.sort()]).toEqual([1, ['one', 'two']])
})
