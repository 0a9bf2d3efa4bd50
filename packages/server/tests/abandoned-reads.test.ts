import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { maxPipelined } from '../src/http/pipelining.ts'
import { readLimits } from '../src/http/read-slots.ts'
import { type AnsweringServer, startAnsweringServer } from './kit/answering-server.ts'

let server: AnsweringServer
let computed = 0
let go: () => void
beforeEach(async () => {
  computed = 0
  const gate = new Promise<void>((resolve) => {
    go = resolve
  })
  server = await startAnsweringServer(() => {
    computed += 1
    return gate
  })
})
afterEach(async () => {
  go()
  await server.app.close()
})

const read = () => server.app.inject({ url: '/api/projects?limit=200' })
const waitFor = (count: number) => vi.waitFor(() => expect(computed).toBe(count), 20_000)

/** Sends a number of pipelined requests on one connection. */
async function send(requests: number): Promise<{ socket: Socket; connection: Socket }> {
  const { port } = new URL(await server.app.listen({ host: '127.0.0.1', port: 0 }))
  const accepted = once(server.app.server, 'connection') as Promise<[Socket]>
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('GET /api/projects?limit=200 HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(requests))
  const [connection] = await accepted
  connection.on('error', () => undefined)
  return { socket, connection }
}

test('reads of a disconnected client are not computed', async () => {
  const { socket, connection } = await send(maxPipelined)
  await waitFor(1)
  socket.resetAndDestroy()
  await vi.waitFor(() => expect(connection.destroyed).toBe(true), 20_000)
  go()
  const last = await read()
  expect(last.statusCode).toBe(200)
  expect(computed).toBe(2)
})

test('the errors of unanswered requests of a closed connection have no stacks: recording them takes longer than parsing the requests', async () => {
  const stacks: string[] = []
  server.app.server.on('request', (request) => request.on('error', ({ stack }: Error) => stacks.push(stack ?? '')))
  const { socket } = await send(maxPipelined)
  await waitFor(1)
  socket.resetAndDestroy()
  await vi.waitFor(() => expect(stacks).toHaveLength(maxPipelined), 20_000)
  expect(stacks.filter((stack) => stack.includes('\n'))).toEqual([])
  expect(new Error('another').stack).toContain('\n')
})

test('pipelined requests of one connection are answered one after the other', async () => {
  const { socket } = await send(maxPipelined)
  let text = ''
  socket.setEncoding('utf8').on('data', (piece) => {
    text += piece
  })
  await waitFor(1)
  go()
  await vi.waitFor(() => expect(text.match(/HTTP\/1.1 200 OK/g)).toHaveLength(maxPipelined), 20_000)
  socket.destroy()
})

test('a connection with more pipelined requests than the limit is closed', async () => {
  const { socket } = await send(1000)
  await vi.waitFor(() => expect(socket.destroyed).toBe(true), 20_000)
  go()
  expect((await read()).statusCode).toBe(200)
  expect(computed).toBeLessThanOrEqual(2)
})

test('a limited number of reads of one caller wait; further ones are refused with 503 and Retry-After', async () => {
  const [taken, more] = [readLimits.concurrent + readLimits.queued, 10]
  const early: Awaited<ReturnType<typeof read>>[] = []
  const answers = Array.from({ length: taken + more }, async () => {
    const answer = await read()
    early.push(answer)
    return answer
  })
  await vi.waitFor(() => expect(early).toHaveLength(more), 20_000)
  expect(computed).toBe(readLimits.concurrent)
  for (const { statusCode, headers, json } of early)
    expect([statusCode, headers['retry-after'], json().code]).toEqual([503, '1', 'unavailable'])
  expect((await server.app.inject({ url: '/api/openapi.json' })).statusCode).toBe(200)
  go()
  const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode)
  expect(statuses.filter((status) => status === 200)).toHaveLength(taken)
})
