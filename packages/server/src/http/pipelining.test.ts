import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, test, vi } from 'vitest'
import { createOrderedServer, maxPipelined } from './pipelining.ts'

const options = { http: {}, keepAliveTimeout: 1_000, requestTimeout: 0, connectionTimeout: 0 }

/** A server that starts requests in turn, and a connection that has sent the given number of requests. */
async function send(requests: number, maxParsed = requests) {
  const begun: ServerResponse[] = []
  const server = createOrderedServer((_, response) => void begun.push(response), options)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => undefined)
  const head = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'
  let parsed = 0
  server.on('request', () => {
    parsed += 1
  })
  socket.write(head.repeat(requests))
  await vi.waitFor(() => expect(parsed).toBe(maxParsed), 20_000)
  const end = async () => {
    socket.destroy()
    await new Promise((closed) => server.close(closed))
  }
  return { socket, begun, parsed: () => parsed, end }
}

test('a request is started only after the previous one was answered', async () => {
  const { begun, end } = await send(3)
  for (const count of [1, 2, 3]) {
    await vi.waitFor(() => expect(begun).toHaveLength(count), 20_000)
    begun.at(-1)?.end()
  }
  await end()
})

test.each([maxPipelined + 2, 1_000])(
  'a connection with %i pipelined requests is closed: no further request is parsed, and no waiting one is started',
  async (requests) => {
    const { socket, begun, parsed, end } = await send(requests, maxPipelined + 2)
    if (!socket.destroyed) await once(socket, 'close')
    expect(begun).toHaveLength(1)
    expect(parsed()).toBe(maxPipelined + 2)
    await end()
  },
)
