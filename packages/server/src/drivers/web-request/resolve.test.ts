import { expect, test } from 'vitest'
import { publicNames, systemNames } from './resolve.ts'
import { startNameServer } from './test-name-server.ts'

const neverAborted = new AbortController().signal

test('public names are resolved by the name server, with all addresses in order', async () => {
  await using nameServer = await startNameServer(() => ['1.2.3.4', '5.6.7.8'])
  expect(await publicNames([nameServer.address])('two.test', neverAborted)).toEqual(['1.2.3.4', '5.6.7.8'])
  expect(nameServer.requests).toEqual(['two.test'])
})

test('an abort ends a lookup without an answer', async () => {
  await using nameServer = await startNameServer(() => 'silence')
  const abort = new AbortController()
  const checking = publicNames([nameServer.address])('slow.test', abort.signal)
  abort.abort()
  await expect(checking).rejects.toMatchObject({ code: 'ECANCELLED' })
})

test('system names include those of the hosts file', async () => {
  const addresses = await systemNames('localhost', neverAborted)
  expect(['127.0.0.1', '::1']).toContain(addresses[0])
})
