import { readFile } from 'node:fs/promises'
import net from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { eventually, serve, startEdge, startUpstream, type TestEdge, type TestUpstream } from '../drivers/edge/edge-fixture.ts'

/** Real sockets from several loopback addresses: 127.0.0.2 is the client that opens too many connections. */
let edge: TestEdge
let upstream: TestUpstream
let sockets: Client[] = []
const answers = new Map<string, () => void>()

beforeAll(async () => {
  edge = await startEdge({ https: { host: '127.0.0.1', port: 0 } })
  upstream = await startUpstream((request, response) => {
    if (request.url === '/') response.end('ok')
    else {
      response.write('begun')
      answers.set(request.url!, () => response.end())
    }
  })
  await edge.route({ 'a.test': project('a'), 'b.test': project('b') }, { limits: { connections: 40 } })
})
afterEach(async () => {
  for (const { socket } of sockets) socket.destroy()
  sockets = []
  await edge.route({}, { trustedProxies: [], limits: { connections: 40 } })
  await eventually(async () => (await heldSockets()) === 0)
})
afterAll(async () => {
  await edge.end()
  await upstream.close()
})

const project = (name: string) => {
  const { target } = serve(upstream)
  return { target: { ...target, projectId: name } } as ReturnType<typeof serve>
}

/** Client sockets that the edge holds: established, or closed by the client and not yet by the edge. */
async function heldSockets(): Promise<number> {
  const hex = [edge.port, edge.tlsPort].map((port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`)
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').slice(1)
  return lines.filter((line) => {
    const [, local, , state] = line.trim().split(/\s+/)
    return (state === '01' || state === '08') && hex.some((end) => local?.endsWith(end))
  }).length
}

class Client {
  text = ''
  closed = false
  readonly socket: net.Socket

  constructor(from: string, port: number) {
    this.socket = net.connect({ port, host: '127.0.0.1', localAddress: from })
    this.socket.on('data', (part) => {
      this.text += part
    })
    this.socket.on('error', () => {})
    this.socket.on('close', () => {
      this.closed = true
    })
  }

  /** Resolves when a response has begun, or the connection is closed. */
  async request(path: string, host = 'a.test', extra = ''): Promise<string> {
    this.text = ''
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${extra}\r\n`)
    await eventually(() => this.closed || /ok|begun|<h1>/.test(this.text))
    return this.closed && this.text === '' ? 'closed' : this.text.slice(9, 12)
  }
}

async function connect(from: string, port = edge.port): Promise<Client> {
  const client = new Client(from, port)
  sockets.push(client)
  await new Promise((resolve) => {
    client.socket.once('connect', resolve)
    client.socket.once('close', resolve)
  })
  return client
}

const connectMany = (count: number, from: string, port = edge.port) =>
  Promise.all(Array.from({ length: count }, () => connect(from, port)))

describe('one client with idle connections', () => {
  test('does not block other clients: its own are closed when its share is used up', async () => {
    const greedy = await connectMany(100, '127.0.0.2')
    await eventually(() => greedy.filter(({ closed }) => !closed).length <= 10)
    expect(await (await connect('127.0.0.3')).request('/')).toBe('200')
    expect(await greedy.findLast(({ closed }) => !closed)!.request('/')).toBe('200')
  })

  test('the longest idle are closed first, and one with a running request is kept', async () => {
    const busy = await connect('127.0.0.2')
    expect(await busy.request('/busy')).toBe('200')
    const greedy = await connectMany(30, '127.0.0.2')
    await eventually(() => greedy.filter(({ closed }) => !closed).length <= 9)
    expect(greedy[0]!.closed).toBe(true)
    answers.get('/busy')!()
    await eventually(() => busy.text.endsWith('0\r\n\r\n'))
    expect(busy.closed).toBe(false)
  })

  test.each(['a part of a head', 'nothing on the port of https'])('that sends %s does not block other clients', async (what) => {
    const head = what === 'a part of a head'
    const greedy = await connectMany(60, '127.0.0.2', head ? edge.port : edge.tlsPort)
    if (head) for (const { socket } of greedy) socket.write('GET / HTTP/1.1\r\nHost')
    await eventually(() => greedy.filter(({ closed }) => !closed).length <= 10)
    expect(await (await connect('127.0.0.3')).request('/')).toBe('200')
  })

  test('at the limit, idle connections of the clients with the most connections are closed', async () => {
    const small = await connect('127.0.0.9')
    for (const from of ['127.0.0.2', '127.0.0.4', '127.0.0.5', '127.0.0.6']) await connectMany(10, from)
    const late = await connectMany(3, '127.0.0.7')
    for (const client of late) expect(await client.request('/')).toBe('200')
    expect(await small.request('/')).toBe('200')
    await expect.poll(heldSockets).toBeLessThanOrEqual(40)
  })
})

describe('one client with running requests', () => {
  test('is limited to its share, and others are served', async () => {
    const busy = await connectMany(10, '127.0.0.2')
    for (const [at, client] of busy.entries()) expect(await client.request(`/slow-${at}`)).toBe('200')
    expect(await (await connect('127.0.0.2')).request('/')).toBe('closed')
    expect(await (await connect('127.0.0.3')).request('/')).toBe('200')
    expect(busy.some(({ closed }) => closed)).toBe(false)
  })

  test('behind a trusted proxy is identified by the address from the proxy', async () => {
    await edge.route({}, { trustedProxies: ['127.0.0.2'] })
    const proxied = await connectMany(14, '127.0.0.2')
    const from = (address: string) => `X-Forwarded-For: 6.6.6.6, ${address}\r\n`
    for (const [at, client] of proxied.slice(0, 10).entries())
      expect(await client.request(`/proxied-${at}`, 'a.test', from('2001:db8::1'))).toBe('200')
    expect(await proxied[10]!.request('/', 'a.test', from('2001:db8::ffff:2'))).toBe('503')
    expect(await proxied[11]!.request('/', 'a.test', from('2001:db8:0:1::1'))).toBe('200')
    answers.get('/proxied-0')!()
    await eventually(() => proxied[0]!.text.endsWith('0\r\n\r\n'))
    expect(await proxied[12]!.request('/', 'a.test', from('2001:db8::3'))).toBe('200')
  })
})

test('a project is limited to its share of running requests; another is served meanwhile', async () => {
  const clients = await Promise.all(['127.0.0.2', '127.0.0.4', '127.0.0.5'].map((from) => connectMany(8, from))).then((groups) =>
    groups.flat(),
  )
  const statuses: string[] = []
  for (const [at, client] of clients.entries()) statuses.push(await client.request(`/crowd-${at}`))
  expect(statuses.filter((status) => status === '200')).toHaveLength(20)
  expect(statuses.filter((status) => status === '503')).toHaveLength(4)
  const other = await connect('127.0.0.9')
  expect(await other.request('/', 'b.test')).toBe('200')
  expect(await other.request('/')).toBe('503')
  answers.get('/crowd-0')!()
  await eventually(() => clients[0]!.text.endsWith('0\r\n\r\n'))
  expect(await other.request('/')).toBe('200')
})

test('slots are released: many connections in a row each get one', async () => {
  await edge.route({}, { limits: { connections: 4 } })
  for (let at = 0; at < 40; at += 1) {
    const client = await connect('127.0.0.2')
    expect(await client.request('/')).toBe('200')
    client.socket.end()
  }
  expect((await readFile(join(edge.folder, 'edge', 'edge.log'), 'utf8')).trim()).toBe('')
})
