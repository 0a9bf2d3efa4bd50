import { describe, expect, test } from 'vitest'
import { serve } from './http-server.ts'
import { need } from './machine.ts'
import { parseWrk, runWrk } from './wrk.ts'

const report = `Running 2s test @ http://127.0.0.1:1/
  1 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   112.21us   84.52us   4.13ms   98.56%
    Req/Sec    36.27k     1.40k   38.12k    85.71%
  Latency Distribution
     50%  105.00us
     75%  115.00us
     90%    1.25ms
     99%    1.02s
  75773 requests in 2.10s, 12.14MB read
  Socket errors: connect 1, read 2, write 3, timeout 4
  Non-2xx or 3xx responses: 90
Requests/sec:  36084.41
Transfer/sec:      5.78MB
`

describe('wrk', () => {
  test('requests, latency and the sum of all errors are read from its report', () => {
    expect(parseWrk(report)).toEqual({ requests: 75773, requestsPerSecond: 36084.41, p50Ms: 0.105, p99Ms: 1020, errors: 100 })
  })

  test('a report without figures is an error', () => {
    expect(() => parseWrk('unable to connect')).toThrow(/unable to connect/)
  })

  test('loads a server and counts error replies', async () => {
    const program = need('wrk')
    let served = 0
    await using server = await serve((request, response) => {
      served++
      response.writeHead(request.headers['x-good'] ? 200 : 500).end('x')
    })
    const good = await runWrk({ program, url: server.url, connections: 4, seconds: 1, headers: { 'x-good': '1' } })
    expect(good).toMatchObject({ errors: 0 })
    expect(good.requests).toBeGreaterThan(0)
    const bad = await runWrk({ program, url: server.url, connections: 4, seconds: 1 })
    expect(bad.errors).toBe(bad.requests)
    expect(served).toBeGreaterThanOrEqual(good.requests + bad.requests)
  })
})
