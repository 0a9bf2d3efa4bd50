import { afterEach, beforeEach, expect, test } from 'vitest'
import { DnsUnanswered } from './dns.ts'
import { createNameServers } from './name-servers.ts'
import { startTestNameServer, type TestNameServer } from './test-name-server.ts'

let server: TestNameServer
beforeEach(async () => {
  server = await startTestNameServer()
})
afterEach(() => server.close())

const neverAborted = new AbortController().signal
const open = (more: object = {}) => createNameServers({ servers: [server.address], cacheMs: 0, timeoutMs: 200, ...more })

test('the strings of one TXT record are joined', async () => {
  server.records.set('_berth.shop.test', [['one'], ['berth-', 'verify=', 'x'.repeat(200)]])
  expect(await open().txt('_berth.shop.test', neverAborted)).toEqual(['one', `berth-verify=${'x'.repeat(200)}`])
})

test.each(['fails', 'silent'] as const)('a server that %s is DnsUnanswered', async (mood) => {
  server.mood = mood
  await expect(open().txt('_berth.shop.test', neverAborted)).rejects.toBeInstanceOf(DnsUnanswered)
})

test('equal queries, concurrent or soon after, share one answer; a failure is not cached', async () => {
  const dns = open({ cacheMs: 60_000 })
  await Promise.all([dns.txt('_berth.shop.test', neverAborted), dns.txt('_berth.shop.test', neverAborted)])
  await dns.txt('_berth.shop.test', neverAborted)
  expect(server.questions).toEqual(['_berth.shop.test'])
  server.mood = 'fails'
  await expect(dns.txt('_berth.other.test', neverAborted)).rejects.toBeInstanceOf(DnsUnanswered)
  server.mood = 'answers'
  expect(await dns.txt('_berth.other.test', neverAborted)).toEqual([])
})

test('an abort ends a query, and the number of concurrent queries is limited', async () => {
  server.mood = 'silent'
  const stop = new AbortController()
  const dns = open({ maxConcurrent: 2, timeoutMs: 60_000 })
  const requested = ['a.test', 'b.test', 'c.test'].map((name) => dns.txt(name, stop.signal).catch((error: Error) => error))
  expect(await requested[2]).toMatchObject({ message: 'Too many DNS lookups are running' })
  stop.abort()
  expect(await Promise.all(requested)).toEqual(requested.map(() => expect.any(DnsUnanswered)))
})
