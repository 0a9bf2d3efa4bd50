import { expect, test } from 'vitest'
import { serve } from '../../../../../tests/kit/http-server.ts'
import { OrderRefused } from './acme.ts'
import { createAcme } from './acme-client.ts'

const neverAborted = new AbortController().signal
const board = { type: 'http-01' as const, show: async () => {}, hide: async () => {} }

/** An authority that knows every account and rejects every order with these headers. */
const limitedAuthority = (headers: Record<string, string>) => {
  const calls: string[] = []
  const serving = serve((request, response) => {
    const at = request.url ?? ''
    calls.push(at)
    const url = (path: string) => `http://${request.headers.host}${path}`
    response.setHeader('replay-nonce', `nonce${calls.length}`)
    if (at === '/dir')
      response.end(JSON.stringify({ newNonce: url('/nonce'), newAccount: url('/account'), newOrder: url('/order') }))
    else if (at === '/account') response.writeHead(200, { location: url('/account/1') }).end('{"status":"valid"}')
    else if (at === '/order') {
      response.writeHead(429, { 'content-type': 'application/problem+json', ...headers })
      response.end(JSON.stringify({ type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many certificates (50)' }))
    } else response.end()
  })
  return { calls, serving }
}

test.each([
  [{ 'retry-after': '7200' }, 7_200_000],
  [{ 'retry-after': new Date(Date.now() + 86_400_000).toUTCString() }, 86_400_000],
  [{}, 3_600_000],
])('an order over the rate limit is refused at once with the time of the next allowed one: %j', async (headers, waitMs) => {
  const { calls, serving } = limitedAuthority(headers as Record<string, string>)
  await using authority = await serving
  const acme = createAcme({ directoryUrl: `${authority.url}/dir`, email: null })
  const failure = (await acme
    .order('shop.example.test', await acme.newAccountKey(), board, neverAborted)
    .catch((error) => error)) as OrderRefused
  expect(failure).toBeInstanceOf(OrderRefused)
  expect(failure.message).toBe('too many certificates (50)')
  expect(Math.abs(failure.retryAt!.getTime() - Date.now() - waitMs)).toBeLessThan(60_000)
  expect(calls.filter((at) => at === '/order')).toHaveLength(1)
})
