import http from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, serve, startEdge, startUpstream, type TestEdge, type TestUpstream } from '../drivers/edge/edge-fixture.ts'
import type { EdgeRule } from './protocol/edge-table.ts'

let edge: TestEdge
let upstream: TestUpstream
let reached = 0

beforeAll(async () => {
  edge = await startEdge()
  upstream = await startUpstream((_, response) => {
    reached += 1
    response.end('ok')
  })
})
afterAll(async () => {
  await edge.end()
  await upstream.close()
})

const withRules = (host: string, ...rules: EdgeRule[]) => edge.route({ [host]: { ...serve(upstream), rules } })
const statuses = async (host: string, count: number, path = '/', headers: Record<string, string> = {}) => {
  const answers: number[] = []
  for (let at = 0; at < count; at += 1) answers.push((await edge.request(host, path, { headers })).status)
  return answers
}

describe('route rules on the edge', () => {
  test('a rate limit passes the given number of requests and refuses further ones with 429 and Retry-After', async () => {
    await withRules('rate.test', { id: 'rate', kind: 'rate-limit', enabled: true, config: { requests: 3, windowSeconds: 60 } })
    reached = 0
    expect(await statuses('rate.test', 5)).toEqual([200, 200, 200, 429, 429])
    expect(reached).toBe(3)
    const refused = await edge.request('rate.test')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(await edge.driver.ruleHits()).toEqual({ rate: 3 })
    expect(await edge.driver.ruleHits()).toEqual({})
  })

  test('a rate limit counts by the address from a trusted proxy, and is kept when other hosts change', async () => {
    const rule: EdgeRule = { id: 'by-client', kind: 'rate-limit', enabled: true, config: { requests: 1, windowSeconds: 60 } }
    await edge.route({ 'clients.test': { ...serve(upstream), rules: [rule] } }, { trustedProxies: ['127.0.0.1'] })
    expect(await statuses('clients.test', 2, '/', { 'x-forwarded-for': '198.51.100.1' })).toEqual([200, 429])
    expect(await statuses('clients.test', 2, '/', { 'x-forwarded-for': '198.51.100.2' })).toEqual([200, 429])
    await edge.route({ 'unrelated.test': serve(upstream) })
    expect(await statuses('clients.test', 1, '/', { 'x-forwarded-for': '198.51.100.1' })).toEqual([429])
    await edge.route({}, { trustedProxies: [] })
  })

  test('a ban refuses with 403 without contacting the upstream; other clients pass', async () => {
    await withRules('ban.test', {
      id: 'ban',
      kind: 'ban',
      enabled: true,
      config: { ips: ['203.0.113.0/24'], userAgents: ['BadBot'] },
    })
    reached = 0
    expect(await statuses('ban.test', 1, '/', { 'user-agent': 'Mozilla (badbot)' })).toEqual([403])
    expect(reached).toBe(0)
    expect(await statuses('ban.test', 1, '/', { 'user-agent': 'Mozilla' })).toEqual([200])
    await withRules('ban.test', { id: 'ban', kind: 'ban', enabled: true, config: { ips: ['127.0.0.0/8'] } })
    expect(await statuses('ban.test', 1)).toEqual([403])
  })

  test('allow-deny refuses denied clients, clients that are not allowed, and other methods', async () => {
    const rule = (config: object): EdgeRule => ({ id: 'ad', kind: 'allow-deny', enabled: true, config })
    await withRules('ad.test', rule({ allow: ['127.0.0.1'] }))
    expect(await statuses('ad.test', 1)).toEqual([200])
    await withRules('ad.test', rule({ allow: ['127.0.0.0/8'], deny: ['127.0.0.1'] }))
    expect(await statuses('ad.test', 1)).toEqual([403])
    await withRules('ad.test', rule({ allow: ['203.0.113.1'] }))
    expect(await statuses('ad.test', 1)).toEqual([403])
    await withRules('ad.test', rule({ methods: ['GET'] }))
    expect(await statuses('ad.test', 1)).toEqual([200])
    expect((await edge.request('ad.test', '/', { method: 'DELETE' })).status).toBe(403)
    await withRules('ad.test', rule({ allow: ['127.0.0.1'], methods: ['GET'] }))
    expect(await statuses('ad.test', 1)).toEqual([200])
    expect((await edge.request('ad.test', '/', { method: 'DELETE' })).status).toBe(403)
  })

  test('a rule with a path applies to that path, a dry run only counts, an expired rule does nothing', async () => {
    const all = { ips: ['0.0.0.0/0', '::/0'] }
    await edge.driver.ruleHits()
    await withRules(
      'parts.test',
      { id: 'path', kind: 'ban', enabled: true, pathPrefix: '/admin', config: all },
      { id: 'dry', kind: 'ban', enabled: true, dryRun: true, config: all },
      { id: 'over', kind: 'ban', enabled: true, expiresAt: '2020-01-01T00:00:00Z', config: all },
      { id: 'off', kind: 'ban', enabled: false, config: all },
    )
    expect(await statuses('parts.test', 1, '/public')).toEqual([200])
    expect(await statuses('parts.test', 1, '/administrator')).toEqual([200])
    expect(await statuses('parts.test', 1, '/admin/users')).toEqual([403])
    expect(await statuses('parts.test', 1, '/x/..%2fadmin')).toEqual([403])
    expect(await edge.driver.ruleHits()).toEqual({ path: 2, dry: 2 })
  })

  test('a rule stops when it expires', async () => {
    const expiresAt = new Date(Date.now() + 2_000).toISOString()
    await withRules('soon.test', { id: 'soon', kind: 'ban', enabled: true, expiresAt, config: { ips: ['127.0.0.1'] } })
    expect(await statuses('soon.test', 1)).toEqual([403])
    await eventually(async () => (await edge.request('soon.test')).status === 200)
  })

  test('a rule applies as soon as apply resolves, also on an open connection', async () => {
    await withRules('live.test')
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const ports = new Set<number>()
    const once = () =>
      new Promise<number>((resolve, reject) => {
        const request = http.get({ port: edge.port, host: '127.0.0.1', headers: { host: 'live.test' }, agent }, (response) => {
          ports.add(response.socket.localPort!)
          response.resume().on('end', () => resolve(response.statusCode!))
        })
        request.on('error', reject)
      })
    expect(await once()).toBe(200)
    await withRules('live.test', { id: 'live', kind: 'ban', enabled: true, config: { ips: ['127.0.0.1'] } })
    expect(await once()).toBe(403)
    await withRules('live.test')
    expect(await once()).toBe(200)
    expect(ports.size).toBe(1)
    agent.destroy()
  })

  test('a refused request does not wake a sleeping project', async () => {
    const rules: EdgeRule[] = [
      { id: 'quiet', kind: 'ban', enabled: true, pathPrefix: '/wp-admin', config: { ips: ['0.0.0.0/0'] } },
    ]
    await edge.route({ 'quiet.test': { target: { kind: 'sleeping', projectId: 'quiet', holdTimeoutMs: 200 }, rules } })
    expect(await statuses('quiet.test', 1, '/wp-admin/login.php')).toEqual([403])
    expect(await edge.driver.activity()).not.toHaveProperty('quiet')
    expect(edge.woken).not.toContain('quiet')
    expect(await statuses('quiet.test', 1, '/')).toEqual([503])
    expect(edge.woken).toContain('quiet')
  })
})
