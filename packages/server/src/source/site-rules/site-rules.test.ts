import { describe, expect, test } from 'vitest'
import { headersFor, redirectionFor, stepsOf } from '../../platform/site-rules/match-rules.ts'
import type { SiteRules } from '../../platform/site-rules/site-rules.ts'
import { headerLines, netlifyRules, redirectLines } from './netlify-rules.ts'
import { destinationOf, patternOf } from './rule-parts.ts'
import { vercelRules } from './vercel-rules.ts'

const leads = (rules: SiteRules, path: string) => {
  const found = redirectionFor(rules, stepsOf(path))
  return found && [found.rule.status, found.to]
}

describe('a pattern', () => {
  test.each([
    ['/', []],
    ['/about', ['=about']],
    ['/a%20b/', ['=a b']],
    ['/blog/:slug', ['=blog', ':slug']],
    ['/docs/*', ['=docs', '*splat']],
    ['/docs/:path*', ['=docs', '*path']],
    ['/(.*)', ['*1']],
    ['/:all(.*)', ['*all']],
  ])('%s is a list of steps', (written, steps) => {
    expect(patternOf(written)).toEqual(steps)
  })

  test.each([
    'about',
    '/(a+)+$',
    '/:id(\\d+)',
    '/*/x',
    '/x/:a?',
    '/a|b',
    '/x?y=1',
    '/%zz',
    'https://other.test/',
    `/${'a'.repeat(600)}`,
  ])('%s is refused and never becomes a regular expression', (written) => {
    expect(patternOf(written)).toBeNull()
  })
})

describe('the target of a redirect', () => {
  test.each(['/x', '/x/:splat?y=1#z', 'https://elsewhere.test/:splat', 'http://elsewhere.test:8080/'])(
    '%s is accepted',
    (written) => {
      expect(destinationOf(written)).not.toBeNull()
    },
  )
  test.each([
    '//elsewhere.test',
    'javascript:alert(1)',
    'https://:host/',
    'https://a.test@b.test/',
    '/x y',
    '/x\r\nset-cookie: a',
    '/\ud800',
    'x',
  ])('%j is refused', (written) => {
    expect(destinationOf(written)).toBeNull()
  })
})

describe('_redirects', () => {
  const { rules, warnings } = redirectLines(`# old pages
/old      /new
/blog/:year/:slug  /posts/:slug-:year  302   # dated
/docs/*   https://docs.example.test/:splat  301!
/app/*    /index.html   200
/api/*    https://api.example.test/:splat  200
/nl/*     /nl/404.html  404
/store id=:id  /store/:id  301
/only/*   /there/:splat  302  Country=nl
/back/*   /:splat
`)

  test('the first matching rule applies, with placeholders filled in', () => {
    expect(leads(rules, 'old')).toEqual([301, '/new'])
    expect(leads(rules, 'old/')).toEqual([301, '/new'])
    expect(leads(rules, 'blog/2024/spring')).toEqual([302, '/posts/spring-2024'])
    expect(leads(rules, 'docs/a/b c')).toEqual([301, 'https://docs.example.test/a/b%20c'])
    expect(leads(rules, 'app/deep/link')).toEqual([200, '/index.html'])
    expect(leads(rules, 'nl/weg')).toEqual([404, '/nl/404.html'])
    expect(leads(rules, 'older')).toBeUndefined()
  })

  test('placeholders never redirect to another host', () => {
    for (const path of ['back//evil.test', 'back/\\evil.test', 'back/https://evil.test', 'back/%0d%0aset-cookie:a'])
      expect(leads(rules, path)?.[1]).toMatch(/^\/(?![/\\])[^\r\n]*$/)
  })

  test('rules that proxy to another host, or depend on the client, are skipped with a warning', () => {
    expect(warnings).toHaveLength(3)
    expect(warnings.join('\n')).toMatch(/_redirects: \/api\/\*.*\n.*\/store.*\n.*\/only/)
  })
})

describe('_headers', () => {
  test('apply to matching paths; the last value wins', () => {
    const { rules, warnings } = headerLines(
      '/*\n  X-Frame-Options: DENY\n  Content-Length: 5\n/docs/*\n  x-frame-options: SAMEORIGIN\n  Link: </a.css>; rel=preload\n',
    )
    expect(headersFor(rules, stepsOf('x'))).toEqual([['X-Frame-Options', 'DENY']])
    expect(headersFor(rules, stepsOf('docs/y'))).toEqual([
      ['x-frame-options', 'SAMEORIGIN'],
      ['Link', '</a.css>; rel=preload'],
    ])
    expect(warnings).toEqual([expect.stringContaining('Content-Length')])
  })

  test.each(['x', 'X-A: caf\u00e9 \u2603', ': x', 'Transfer-Encoding: chunked', 'Connection: close'])(
    '%j sets no header',
    (line) => {
      expect(headerLines(`/*\n  ${line}\n`).rules.headers).toEqual([])
    },
  )
})

test('netlify.toml is read from its tables', () => {
  const toml = {
    redirects: [
      { from: '/a', to: '/b', status: 302, force: true },
      { from: '/q', to: '/r', query: { id: ':id' } },
    ],
    headers: [{ for: '/*', values: { 'X-A': 'b', 'Cache-Control': ['max-age=0', 'no-cache'] } }],
  }
  const { rules, warnings } = netlifyRules(toml)
  expect(rules).toEqual({
    redirects: [{ from: ['=a'], to: '/b', status: 302, force: true }],
    headers: [
      {
        for: ['*splat'],
        values: [
          ['X-A', 'b'],
          ['Cache-Control', 'max-age=0, no-cache'],
        ],
      },
    ],
  })
  expect(warnings).toEqual([expect.stringContaining('/q')])
})

test('a table in place of a string in netlify.toml is skipped with a warning', () => {
  const table = { toString: 1, valueOf: 1 }
  const { rules, warnings } = netlifyRules({
    redirects: [{ from: table, to: '/x', query: {} }],
    headers: [{ for: '/*', values: { 'X-A': table, 'X-B': ['b', table], 'X-C': 'c' } }],
  })
  expect(rules).toEqual({ redirects: [], headers: [{ for: ['*splat'], values: [['X-C', 'c']] }] })
  expect(warnings).toHaveLength(3)
})

test('vercel.json: redirects apply before files, rewrites after them, and conditions are skipped', () => {
  const { rules, warnings } = vercelRules({
    redirects: [
      { source: '/old/:path*', destination: '/new/:path*' },
      { source: '/t', destination: '/u', permanent: false },
    ],
    rewrites: [
      { source: '/(.*)', destination: '/index.html' },
      { source: '/x', destination: '/y', has: [{ type: 'host' }] },
    ],
    headers: [{ source: '/(.*)', headers: [{ key: 'X-A', value: 'b' }] }],
  })
  expect(leads(rules, 'old/a/b')).toEqual([308, '/new/a/b'])
  expect(leads(rules, 't')).toEqual([307, '/u'])
  expect(leads(rules, 'any/thing')).toEqual([200, '/index.html'])
  expect(rules.redirects.map(({ force }) => force)).toEqual([true, true, false])
  expect(headersFor(rules, [])).toEqual([['X-A', 'b']])
  expect(warnings).toEqual([expect.stringContaining('"has"')])
})

test('a rule that redirects to its own address is skipped', () => {
  const { rules } = vercelRules({
    redirects: [
      { source: '/docs', destination: '/docs/' },
      { source: '/a%20b', destination: '/a%20b?seen=1' },
      { source: '/en/:path*', destination: '/en/start' },
      { source: '/en/:path*', destination: 'https://en.example.test/:path*' },
    ],
    rewrites: [{ source: '/:path*', destination: '/:path*' }],
  })
  expect(leads(rules, 'docs')).toEqual([200, '/docs'])
  expect(leads(rules, 'a b')).toEqual([200, '/a%20b'])
  expect(leads(rules, 'en/x')).toEqual([308, '/en/start'])
  expect(leads(rules, 'en/start')).toEqual([308, 'https://en.example.test/start'])
})

test('the number of rules is limited', () => {
  const { rules, warnings } = redirectLines(Array.from({ length: 4_000 }, (_, at) => `/a${at} /b`).join('\n'))
  expect([rules.redirects.length, warnings.length]).toEqual([500, 11])
})
