import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { callEngine, eventsOf, openEngineThrough } from '../docker/engine.ts'
import { framesOf } from '../docker/run/frames.ts'
import { linkAgent } from './link-agent.ts'

/** An engine that sends `head` and then endless spaces. */
async function endless(head: string, status = '200 OK') {
  const server = createServer((socket) => {
    const piece = Buffer.alloc(1024 * 1024, ' ')
    const more = () => {
      while (!socket.destroyed && socket.write(piece));
    }
    socket.on('error', () => undefined)
    socket.on('drain', more)
    socket.once('data', () => {
      socket.write(`HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n${head}`)
      more()
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const engine = openEngineThrough(linkAgent({ toDocker: async () => connect(port, '127.0.0.1') }))
  return { engine, [Symbol.asyncDispose]: () => new Promise<void>((done) => server.close(() => done())) }
}

test('an endless answer of a remote engine is an error', async () => {
  await using hostile = await endless('{"Version": "')
  await expect(callEngine(() => hostile.engine.version())).rejects.toThrow('larger than 4096 KB')
})

test('an endless error message is an error', async () => {
  await using hostile = await endless('{"message": "', '500 Internal Server Error')
  await expect(callEngine(() => hostile.engine.listContainers())).rejects.toThrow('larger than 64 KB')
})

test('an endless event is an error', async () => {
  await using hostile = await endless('{"id": "')
  const abort = new AbortController()
  const reading = async () => {
    for await (const _event of eventsOf({}, hostile.engine, { abort: abort.signal })) expect.fail('there should be none')
  }
  await expect(reading()).rejects.toThrow('too long')
  abort.abort()
})

test('a frame with a huge announced size is an error', async () => {
  const header = Buffer.from([1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff])
  const read = async () => {
    for await (const _frame of framesOf(Object.assign([header], {}) as never)) expect.fail('there should be none')
  }
  await expect(read()).rejects.toThrow('larger than')
})
