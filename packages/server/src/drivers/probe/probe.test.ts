import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { probe } from './probe.ts'

const neverAborted = new AbortController().signal
const uid = process.getuid?.() ?? 0
let server: Server
let requested: string[]
beforeEach(async () => {
  requested = []
  server = createServer((request, response) => {
    requested.push(request.url ?? '')
    response.writeHead(request.url === '/broken' ? 500 : 200).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => new Promise((resolve) => server.close(resolve)))

const target = (more: object = {}) => ({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, ...more })

test('the listener of the program is requested', async () => {
  const own = process.platform === 'linux' ? { listener: { uid } } : {}
  expect(await probe(target(own), 5_000, neverAborted)).toEqual({ healthy: true, status: null })
  expect(await probe(target({ ...own, path: '/well' }), 5_000, neverAborted)).toEqual({ healthy: true, status: 200 })
  expect(await probe(target({ ...own, path: '/broken' }), 5_000, neverAborted)).toMatchObject({ healthy: false, status: 500 })
  expect(requested).toEqual(['/well', '/broken'])
})

test('the path is requested like a browser does', async () => {
  expect(await probe(target({ path: '/état de santé?a=%20b' }), 5_000, neverAborted)).toEqual({ healthy: true, status: 200 })
  expect(requested).toEqual(['/%C3%A9tat%20de%20sant%C3%A9?a=%20b'])
})

test.runIf(process.platform === 'linux')(
  'a foreign listener on the port is not requested and does not count as healthy',
  async () => {
    const listener = { uid: uid + 1 }
    for (const path of [{}, { path: '/well' }])
      expect(await probe(target({ listener, ...path }), 5_000, neverAborted)).toEqual({
        healthy: false,
        status: null,
        reason: 'another program listens on its port',
      })
    expect(requested).toEqual([])
  },
)

test.runIf(process.platform === 'linux')('a connection closed while its listener is looked up counts as an answer', async () => {
  server.on('connection', (socket) => socket.end())
  for (const path of [{}, { path: '/well' }])
    expect(await probe(target({ listener: { uid }, ...path }), 5_000, neverAborted)).toEqual({
      healthy: false,
      status: null,
      reason: 'it closed the connection',
    })
})

test('a refused connection is retried until a program listens, within the wait', async () => {
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const late = probe({ host: '127.0.0.1', port, path: '/late', awaitListenerMs: 60_000 }, 120_000, neverAborted)
  await new Promise((resolve) => setTimeout(resolve, 50))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  expect(await late).toEqual({ healthy: true, status: 200 })
  expect(requested).toEqual(['/late'])
})

test('a port without a listener is refused after the wait; an answer of a listening program is not waited for', async () => {
  expect(await probe(target({ path: '/broken', awaitListenerMs: 60_000 }), 120_000, neverAborted)).toMatchObject({ status: 500 })
  const closed = target({ awaitListenerMs: 30 })
  await new Promise((resolve) => server.close(resolve))
  expect(await probe(closed, 5_000, neverAborted)).toEqual({
    healthy: false,
    status: null,
    reason: 'nothing listens on its port',
    refused: true,
  })
})
