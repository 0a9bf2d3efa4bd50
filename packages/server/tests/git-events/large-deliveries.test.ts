import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { limits } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstance, type TestInstance } from '../kit/instance.ts'

/** Any client may send deliveries, and up to 25 MB of each is kept until its signature can be checked. */
let instance: TestInstance
let address: URL
beforeAll(async () => {
  instance = await startInstance()
  address = new URL('/api/webhooks/git/github', await instance.app.listen({ port: 0, host: '127.0.0.1' }))
})
afterAll(() => instance?.stop())

const open = (headers: Record<string, string | number>): ClientRequest => {
  const sending = request(address, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', 'x-github-event': 'push', ...headers },
  })
  sending.on('error', () => {})
  return sending
}

/** Sends half of the body and then waits. */
const hold = async (headers: Record<string, string | number>) => {
  const sending = open(headers)
  await new Promise<void>((resolve) => void sending.write(Buffer.alloc(limits.bodyBytes, 32), () => resolve()))
  return sending
}

const answerTo = async (sending: ClientRequest): Promise<number | undefined> => {
  const [response] = (await once(sending, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}

const whole = (bytes: number) => {
  const sending = open({ 'content-length': bytes })
  sending.end(Buffer.alloc(bytes, 32))
  return answerTo(sending)
}

test('two large deliveries of one client are read at once; small ones are not delayed, and a slot is free when one ends', async () => {
  const held = [await hold({ 'content-length': limits.gitDeliveryBytes }), await hold({ 'transfer-encoding': 'chunked' })]
  await expect.poll(() => whole(limits.bodyBytes + 1)).toBe(429)
  expect(await whole(limits.bodyBytes)).toBe(401)
  held[0]!.destroy()
  await expect.poll(() => whole(limits.bodyBytes + 1)).toBe(401)
  held[1]!.destroy()
})
