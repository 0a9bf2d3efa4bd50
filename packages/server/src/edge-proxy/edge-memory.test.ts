import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  eventually,
  rawRequest,
  serve,
  startEdge,
  startRawUpstream,
  type TestEdge,
  type TestUpstream,
} from '../drivers/edge/edge-fixture.ts'

/**
 * A peer sends without end and the other one reads nothing: the edge must stop reading from the sender, and its memory must not grow.
 */
let edge: TestEdge
let folder: string
let pid: number
let idleBytes: number
const upstreams: TestUpstream[] = []
const sockets: net.Socket[] = []

/** Far more than the kernel's socket buffers hold, so that an edge that buffers it is noticed. */
const endless = 160 * 1_048_576
const maxKernel = 32 * 1_048_576
const maxGrowth = 96 * 1_048_576

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-memory-'))
  edge = await startEdge({ https: { host: '127.0.0.1', port: 0 } })
  pid = Number(await readFile(join(edge.folder, 'edge', 'edge.lock'), 'utf8'))
  const page = await route('warm.test', (socket) => socket.on('data', () => socket.write('HTTP/1.1 204 No Content\r\n\r\n')))
  for (let at = 0; at < 50; at += 1) await edge.request(page)
  idleBytes = await residentBytes()
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await edge.end()
  for (const upstream of upstreams) await upstream.close()
  await rm(folder, { recursive: true, force: true })
})

async function residentBytes(): Promise<number> {
  return Number((await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ')[1]) * 4_096
}

async function certificate(name: string) {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const pair = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', key, '-out', cert]
  await promisify(execFile)('openssl', ['req', '-x509', ...pair, '-nodes', '-days', '2', '-subj', `/CN=${name}`])
  return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
}

async function route(host: string, onConnection: (socket: net.Socket) => void): Promise<string> {
  const upstream = await startRawUpstream(onConnection)
  upstreams.push(upstream)
  await edge.route({ [host]: serve(upstream) })
  return host
}

/** A client that writes and never reads. */
function deafClient(text: string): net.Socket {
  const socket = net.connect(edge.port, '127.0.0.1')
  socket.write(text, 'latin1')
  socket.on('error', () => {})
  sockets.push(socket)
  return socket
}

/** Writes a piece repeatedly, as fast as it is accepted. */
class Flood {
  sent = 0
  over = false

  constructor(socket: net.Socket, piece: Buffer) {
    const more = () => {
      while (!socket.destroyed && this.sent < endless) {
        this.sent += piece.length
        if (!socket.write(piece)) return
      }
    }
    socket.on('drain', more)
    socket.on('error', () => {})
    socket.on('close', () => {
      this.over = true
    })
    more()
  }

  /** Resolves with the bytes accepted, once no more are accepted or the connection is closed. */
  async stopped(): Promise<number> {
    for (let before = -1; before !== this.sent && !this.over && this.sent < endless; ) {
      before = this.sent
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
    return this.sent
  }
}

async function expectBounded(flood: Flood): Promise<void> {
  expect(await flood.stopped()).toBeLessThan(maxKernel)
  expect((await residentBytes()) - idleBytes).toBeLessThan(maxGrowth)
}

const get = (host: string, extra = '') => `GET / HTTP/1.1\r\nHost: ${host}\r\n${extra}\r\n`
const many = (text: string) => Buffer.from(text.repeat(Math.ceil(65_536 / text.length)), 'latin1')

/** A flood that an upstream sends after the first byte it receives. */
function floodFrom(host: string, first: string, piece: Buffer): { host: Promise<string>; flood: Promise<Flood> } {
  let begun: (flood: Flood) => void
  const flood = new Promise<Flood>((resolve) => {
    begun = resolve
  })
  const answer = (socket: net.Socket) =>
    socket.once('data', () => {
      socket.resume()
      socket.write(first, 'latin1')
      begun(new Flood(socket, piece))
    })
  return { host: route(host, answer), flood }
}

describe('an endless upstream, in bounded memory', () => {
  test.each([
    ['interim answers', '', 'HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n'],
    ['large interim answers', '', `HTTP/1.1 103 Early Hints\r\nX: ${'x'.repeat(30_000)}\r\n\r\n`],
    ['100 Continue', '', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['headers', 'HTTP/1.1 200 OK\r\n', 'X: y\r\n'],
    ['one header', 'HTTP/1.1 200 OK\r\nX: ', 'xxxxxxxx'],
    ['a sized body', 'HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n', 'xxxxxxxx'],
    ['a body until it closes', 'HTTP/1.1 200 OK\r\n\r\n', 'xxxxxxxx'],
    ['chunks of one byte', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\nx\r\n'],
    ['a chunk extension', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;', 'xxxxxxxx'],
    ['trailers', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n', 'X: y\r\n'],
  ])('with %s, to a client that does not read', async (name, first, piece) => {
    const source = floodFrom(`${name.replaceAll(' ', '-').toLowerCase()}.test`, first, many(piece))
    deafClient(get(await source.host))
    await expectBounded(await source.flood)
  })

  test('in an upgraded connection', async () => {
    const source = floodFrom('upgraded.test', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n', many('x'))
    deafClient(get(await source.host, 'Connection: Upgrade\r\nUpgrade: x\r\n'))
    await expectBounded(await source.flood)
  })

  test('with chunks to a client of HTTP/1.0', async () => {
    const source = floodFrom('old.test', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', many('1\r\nx\r\n'))
    deafClient(`GET / HTTP/1.0\r\nHost: ${await source.host}\r\n\r\n`)
    await expectBounded(await source.flood)
  })

  test('a few interim responses are forwarded; more are 502', async () => {
    const hints = (count: number) => (socket: net.Socket) =>
      socket.on('data', () =>
        socket.write(`${'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'.repeat(count)}HTTP/1.1 204 No Content\r\n\r\n`),
      )
    const statuses = async (host: string) =>
      [...(await rawRequest(edge.port, get(host, 'Connection: close\r\n'))).matchAll(/HTTP\/1\.1 (\d{3})/g)].map(
        ([, code]) => code,
      )
    expect(await statuses(await route('few.test', hints(3)))).toEqual(['103', '103', '103', '204'])
    const tooMany = await statuses(await route('hints.test', hints(100)))
    expect(tooMany.at(-1)).toBe('502')
    expect(tooMany.length).toBeLessThan(20)
  })
})

describe('an endless client, in bounded memory', () => {
  const deafUpstream = (host: string, answer = '') =>
    route(host, (socket) => {
      socket.pause()
      if (answer) socket.write(answer)
    })

  test.each([
    ['a sized body', 'Content-Length: 999999999999\r\n', 'xxxxxxxx', ''],
    ['chunks', 'Transfer-Encoding: chunked\r\n', '8\r\nxxxxxxxx\r\n', ''],
    ['chunks of one byte', 'Transfer-Encoding: chunked\r\n', '1\r\nx\r\n', ''],
    ['a chunk extension', 'Transfer-Encoding: chunked\r\n', ';xxxxxxx', ''],
    ['an upgraded connection', 'Connection: Upgrade\r\nUpgrade: x\r\n', 'xxxxxxxx', 'HTTP/1.1 101 Y\r\nUpgrade: x\r\n\r\n'],
  ])('sending %s to an upstream that does not read', async (name, headers, piece, answer) => {
    const host = await deafUpstream(`upload-${name.replaceAll(' ', '-')}.test`, answer)
    const socket = deafClient(get(host, headers))
    const first = name === 'a chunk extension' ? '1' : ''
    await expectBounded(new Flood(socket, many(first + piece)))
  })

  test('sending headers', async () => {
    await expectBounded(new Flood(deafClient('GET / HTTP/1.1\r\n'), many('X: y\r\n')))
  })

  test.each([
    [
      'a project',
      async () =>
        route('pipe.test', (socket) =>
          socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n${'x'.repeat(1000)}`)),
        ),
    ],
    ['an address where nothing is', async () => 'nothing.test'],
    ['a site', async () => staticSite('pipe-site.test')],
  ])('requesting %s repeatedly without reading the response', async (_, host) => {
    await expectBounded(new Flood(deafClient(''), many(get(await host()))))
  })

  test('requesting a large file over https repeatedly', async () => {
    const host = await staticSite('secure-site.test')
    await edge.route({}, { certificates: { [host]: await certificate(host) } })
    const clients = Array.from({ length: 40 }, () => {
      const socket = tls.connect({ port: edge.tlsPort, host: '127.0.0.1', servername: host, rejectUnauthorized: false }, () => {
        socket.pause()
        socket.write(`${get(host).replace('/ ', '/large.bin ')}`.repeat(20))
      })
      socket.on('error', () => {})
      sockets.push(socket)
      return socket
    })
    await Promise.all(clients.map((socket) => eventually(() => socket.bytesWritten > 0)))
    await new Flood(deafClient(''), many(get('nothing.test'))).stopped()
    expect((await residentBytes()) - idleBytes).toBeLessThan(maxGrowth)
  })

  async function staticSite(host: string): Promise<string> {
    await writeFile(join(folder, 'index.html'), 'hello')
    await writeFile(join(folder, 'large.bin'), Buffer.alloc(1_000_000, 'x'))
    await edge.route({ [host]: { target: { kind: 'static', projectId: 'p', deploymentId: 'd', folder } } })
    return host
  }
})

test('an upstream with a slow response head times out', async () => {
  await edge.route({}, { limits: { responseHeadMs: 400 } })
  let drip: NodeJS.Timeout | undefined
  const host = await route('drip.test', (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\n')
      drip = setInterval(() => socket.write('X: y\r\n'), 20)
    })
  })
  expect((await edge.request(host)).status).toBe(504)
  clearInterval(drip)
})
