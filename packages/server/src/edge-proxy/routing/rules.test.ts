import { describe, expect, test } from 'vitest'
import { addressKey } from '../../platform/address-set.ts'
import { HeadFault, parseRequestHead } from '../message/request-head.ts'
import type { EdgeRule } from '../protocol/edge-table.ts'
import { compileRule, RuleSet } from './rules.ts'

const now = Date.parse('2030-01-01T00:00:00Z')
const request = (line = 'GET /', extra = '') => {
  const head = parseRequestHead(`${line} HTTP/1.1\r\nHost: app.example\r\n${extra}`)
  if (head instanceof HeadFault) throw new Error(head.reason)
  return head
}
const ban = (config: object, rest: object = {}): EdgeRule =>
  ({ id: 'r', kind: 'ban', enabled: true, config, ...rest }) as EdgeRule

function validated(rule: EdgeRule, { from = '192.0.2.1', line = 'GET /', extra = '', at = now } = {}) {
  const hits: string[] = []
  const warnings: string[] = []
  const compiled = compileRule(rule, undefined, warnings)
  const set = new RuleSet(compiled ? [compiled] : [], (id) => hits.push(id))
  const refusal = set.evaluate(request(line, extra), addressKey(from)!, at)
  return { status: refusal?.status ?? 200, hits: hits.length, warnings }
}

describe('a ban', () => {
  test('refuses addresses, networks and user agents with 403 and counts a hit', () => {
    expect(validated(ban({ ips: ['192.0.2.0/24'] }))).toMatchObject({ status: 403, hits: 1 })
    expect(validated(ban({ ips: ['192.0.2.0/24'] }), { from: '198.51.100.1' })).toMatchObject({ status: 200, hits: 0 })
    expect(validated(ban({ userAgents: ['badbot'] }), { extra: 'User-Agent: Mozilla BadBot/2\r\n' }).status).toBe(403)
    expect(validated(ban({ userAgents: ['badbot', ''] }), { extra: 'User-Agent: curl\r\n' }).status).toBe(200)
  })

  test('only counts hits in a dry run', () => {
    expect(validated(ban({ ips: ['192.0.2.1'] }, { dryRun: true }))).toMatchObject({ status: 200, hits: 1 })
  })

  test('does nothing if it is disabled, expired, or for another path or host', () => {
    const all = { ips: ['0.0.0.0/0'] }
    expect(validated(ban(all, { enabled: false })).status).toBe(200)
    expect(validated(ban(all, { expiresAt: '2029-12-31T23:59:59Z' })).status).toBe(200)
    expect(validated(ban(all, { expiresAt: '2030-01-01T00:00:01Z' })).status).toBe(403)
    expect(validated(ban(all, { pathPrefix: '/admin' })).status).toBe(200)
    expect(validated(ban(all, { hostname: 'other.example' })).status).toBe(200)
    expect(validated(ban(all, { hostname: 'App.example' })).status).toBe(403)
  })

  test.each([
    '/admin',
    '/admin/x',
    '/admin/',
    '//admin',
    '/./admin',
    '/x/../admin',
    '/%61dmin',
    '/x/%2e%2e/admin',
    '/admin;v=1',
    '/\\admin',
    '/%zz/../admin',
    '/%61dmin/../x',
    '/%61dmin%2f..',
    '/%61dmin%2f..%2f..',
    '/x#/../admin',
    '/%2561dmin',
    '/%25%36%31dmin',
    '/ADMIN',
    '/aDm%49n',
    '/x/%252e%252e/admin',
    '/x/..;/admin',
    '/x/..%3b/admin',
    '/x%5c..%5cadmin',
    '//x/admin',
    '/\\x\\admin',
    '/x//../admin',
    '/%c1%a1dmin',
    '/x/%c0%ae%c0%ae/admin',
    '/%u0061dmin',
    '/adm%ffin',
    '/x/.%ff./admin',
    '/x/..%00/admin',
    '/%ef%bd%81dmin',
    '/x/..%20/admin',
    '/%20admin',
    '/.;x/admin',
    '/x/%2e%2e%2fadmin',
    '/%25252561dmin',
    '/index.php/admin',
    '/app_dev.PHP/admin/x',
    '/blog/index.php/admin',
    '/index%2ephp/admin',
    '/a.php/b.php/admin',
    '/cgi-bin/site.fcgi/admin',
    '/_next/data/hW0Y3k/admin.json',
    '/_next/data/hW0Y3k/admin/users.json',
    '/page-data/admin/page-data.json',
  ])('on /admin is not bypassed by %s', (path) => {
    expect(validated(ban({ ips: ['0.0.0.0/0'] }, { pathPrefix: '/admin' }), { line: `GET ${path}` }).status).toBe(403)
  })

  test('on a longer path applies to each of its spellings', () => {
    const rule = (pathPrefix: string) => ban({ ips: ['0.0.0.0/0'] }, { pathPrefix })
    for (const path of ['/admin./users', '/admin%20/users', '/admin;a=b/users', '/admin//users', '/Admin/x/../Users'])
      expect(validated(rule('/admin/users'), { line: `GET ${path}` }).status).toBe(403)
    for (const path of ['/admin', '/ADMIN', '/admin?x', '/_next/data/x/admin.json'])
      expect(validated(rule('/admin/'), { line: `GET ${path}` }).status).toBe(403)
    for (const path of ['/gr%C3%B6%C3%9Fe', '/gr%F6%DFe', '/GR%C3%96SSE'])
      expect(validated(rule('/größe'), { line: `GET ${path}` }).status).toBe(403)
    for (const path of ['/a%20b', '/a+b', '/A%2520b']) expect(validated(rule('/a%20b'), { line: `GET ${path}` }).status).toBe(403)
  })

  test('does not apply to paths that no reading places below it', () => {
    const rule = ban({ ips: ['0.0.0.0/0'] }, { pathPrefix: '/admin' })
    for (const path of [
      '/',
      '/x/admin',
      '/adm',
      '/administrator',
      '/admin-x',
      '/admin.html',
      '/%61dministrator',
      '/x/../administrator/users',
      '/x?/admin',
      '/index.php',
      '/_next/static/admin.js',
      '/_next/data/x/other.json',
      '/x?y=/../admin',
      '/x/..%2f..%2fsettings',
      '/proxy/https%3A%2F%2Fexample.com%2Fadmin%3Fa%3Db%26c%3Dd',
      '/gr%C3%B6%C3%9Fe/%E6%97%A5%E6%9C%AC/100%25+a;b=c/..%2Fx#y',
    ])
      expect(validated(rule, { line: `GET ${path}` }).status).toBe(200)
  })

  test('applies to a path with more readings than the limit', () => {
    const rule = ban({ ips: ['0.0.0.0/0'] }, { pathPrefix: '/admin' })
    const path = `/${'%25'.repeat(300)}${'/..;%2e%5c#%00//.%20'.repeat(300)}`
    expect(validated(rule, { line: `GET ${path}` }).status).toBe(403)
  })

  test('is evaluated in bounded time for a path made to be slow', () => {
    const rule = ban({ ips: ['0.0.0.0/0'] }, { pathPrefix: '/admin' })
    const paths = ['%20.'.repeat(15_000), `x${'%20'.repeat(20_000)}x/y%20`, `${'%09.'.repeat(15_000)}/`, '/.'.repeat(30_000)]
    // Each of them used to take a second and more for one of its readings.
    for (const path of paths) for (let turn = 0; turn < 20; turn += 1) validated(rule, { line: `GET /${path}x` })
    expect(validated(rule, { line: `GET /admin${paths[0]}` }).status).toBe(403)
  })

  test('reports invalid entries and keeps the others', () => {
    const { status, warnings } = validated(ban({ ips: ['nonsense', '192.0.2.1'] }))
    expect(status).toBe(403)
    expect(warnings).toEqual(['rule r: "nonsense" is not an IP address or CIDR range'])
  })
})

describe('allow-deny', () => {
  const rule = (config: object): EdgeRule => ({ id: 'r', kind: 'allow-deny', enabled: true, config }) as EdgeRule

  test('denies first, then clients that are not allowed', () => {
    const both = rule({ allow: ['192.0.2.0/24'], deny: ['192.0.2.9'] })
    expect(validated(both, { from: '192.0.2.1' }).status).toBe(200)
    expect(validated(both, { from: '192.0.2.9' }).status).toBe(403)
    expect(validated(both, { from: '198.51.100.1' }).status).toBe(403)
    expect(validated(rule({ deny: ['192.0.2.9'] }), { from: '198.51.100.1' }).status).toBe(200)
  })

  const deny = { deny: ['198.51.100.0/24'] }
  const allow = { allow: ['192.0.2.0/24'] }
  const methods = { methods: ['get', 'HEAD'] }
  /** Whether a request is in `deny`, is in `allow`, and has one of `methods`. */
  const requests = [
    { isDenied: true, isAllowed: false, from: '198.51.100.1' },
    { isDenied: false, isAllowed: true, from: '192.0.2.1' },
    { isDenied: false, isAllowed: false, from: '203.0.113.1' },
  ].flatMap((one) => ['GET /', 'DELETE /', 'get /'].map((line) => ({ ...one, line, hasMethod: line === 'GET /' })))

  test.each([
    deny,
    allow,
    methods,
    { ...deny, ...allow },
    { ...deny, ...methods },
    { ...allow, ...methods },
    { ...deny, ...allow, ...methods },
  ])(
    '%j: a request passes if it is not in `deny`, is in `allow` and has one of `methods`, as far as they are given',
    (config) => {
      for (const { isDenied, isAllowed, hasMethod, ...requested } of requests) {
        const passes =
          !('deny' in config && isDenied) && (!('allow' in config) || isAllowed) && (!('methods' in config) || hasMethod)
        expect([requested, validated(rule(config), requested)]).toMatchObject([
          requested,
          { status: passes ? 200 : 403, hits: passes ? 0 : 1 },
        ])
        const dry = validated({ ...rule(config), dryRun: true }, requested)
        expect([requested, dry]).toMatchObject([requested, { status: 200, hits: passes ? 0 : 1 }])
      }
    },
  )

  test.each([
    ['POST /', 'X-HTTP-Method-Override: DELETE\r\n'],
    ['POST /', 'x-http-method: delete\r\n'],
    ['POST /', 'X-Method-Override:\tDelete \r\n'],
    ['POST /', 'X-HTTP-Method-Override: PUT\r\nX-HTTP-Method: DELETE\r\n'],
    ['POST /', 'X-HTTP-Method-Override: PUT, DELETE\r\n'],
    ['POST /?a=b&_method=DELETE', ''],
    ['POST /?%5fm%65thod=%44elete', ''],
    ['POST /?.method=delete', ''],
    ['POST /?a;_method=DELETE', ''],
    ['POST /?a=b?c&+_method=DELETE', ''],
  ])('by method applies to %s with %j, which a framework treats as another method', (line, extra) => {
    expect(validated(rule({ methods: ['GET', 'HEAD', 'POST', 'PUT'] }), { line, extra }).status).toBe(403)
    expect(validated(rule({ allow: ['0.0.0.0/0'], methods: ['GET', 'HEAD', 'POST', 'PUT'] }), { line, extra }).status).toBe(403)
    // The method in the request line counts as well.
    expect(validated(rule({ methods: ['DELETE', 'PUT'] }), { line, extra }).status).toBe(403)
    expect(validated(rule({ methods: ['POST', 'PUT', 'DELETE'] }), { line, extra }).status).toBe(200)
  })

  test('by method ignores a method named elsewhere', () => {
    const reads = rule({ methods: ['GET'] })
    for (const line of [
      'GET /_method=DELETE',
      'GET /?x_method=DELETE',
      'GET /?method=DELETE',
      'GET /?a=_method',
      'GET /?_method=',
    ])
      expect(validated(reads, { line }).status).toBe(200)
    expect(validated(reads, { extra: 'X-HTTP-Method-Override: get\r\nX-Method: DELETE\r\n' }).status).toBe(200)
  })

  test('whose allow list has no valid entry denies every client', () => {
    expect(validated(rule({ allow: ['nonsense'] })).status).toBe(403)
  })
})

describe('a rate limit rule', () => {
  const rule: EdgeRule = { id: 'r', kind: 'rate-limit', enabled: true, config: { requests: 2, windowSeconds: 60 } }

  test('refuses with 429 and Retry-After, or its configured status', () => {
    const compiled = compileRule(rule, undefined, [])!
    const client = addressKey('192.0.2.1')!
    const answers = [1, 2, 3].map(() => compiled.evaluate(request(), client, now))
    expect(answers).toEqual([undefined, undefined, { status: 429, retryAfterSeconds: expect.any(Number) }])
    const other = compileRule({ ...rule, config: { ...rule.config, requests: 0, status: 503 } } as EdgeRule, undefined, [])!
    expect(other.evaluate(request(), client, now)?.status).toBe(503)
  })

  test('keeps its count in a new table if it is unchanged, and starts again if it was changed', () => {
    const first = compileRule(rule, undefined, [])!
    expect(compileRule({ ...rule }, first, [])).toBe(first)
    expect(compileRule({ ...rule, dryRun: true }, first, [])).not.toBe(first)
  })
})
