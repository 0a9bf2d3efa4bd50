import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startEdge, type TestEdge } from '../drivers/edge/edge-fixture.ts'
import type { SiteRules } from '../platform/site-rules/site-rules.ts'
import type { StaticTarget } from './protocol/edge-table.ts'

let edge: TestEdge
let folder: string
const script = `console.log(${JSON.stringify('x'.repeat(5_000))})`
const big = randomBytes(3_000_000)

/** Rules as a deployment writes them beside the pages. */
const rules: SiteRules = {
  redirects: [
    { from: ['=old', '*splat'], to: '/new/:splat', status: 301, force: true },
    { from: ['=away'], to: 'https://elsewhere.test/x?y=1', status: 302, force: false },
    { from: ['=there'], to: '/nowhere', status: 301, force: false },
    { from: ['=gone'], to: '/lost.html', status: 404, force: false },
    { from: ['=app', '*splat'], to: '/index.html', status: 200, force: false },
  ],
  headers: [
    { for: ['*splat'], values: [['X-Frame-Options', 'DENY']] },
    {
      for: ['=there'],
      values: [
        ['Cache-Control', 'max-age=60'],
        ['Content-Type', 'text/plain'],
      ],
    },
  ],
}

const site = (rest: Partial<StaticTarget> = {}) => ({
  target: { kind: 'static' as const, projectId: 'site', deploymentId: 'dep', folder: join(folder, 'site'), ...rest },
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-site-'))
  const put = async (path: string, body: string | Buffer) => {
    const file = join(folder, path)
    await mkdir(join(file, '..'), { recursive: true })
    await writeFile(file, body)
  }
  await put('outside.txt', 'secret')
  await put('site/index.html', '<h1>home</h1>')
  await put('site/about.html', 'about')
  await put('site/docs/index.html', 'docs')
  await put('site/404.html', 'not here')
  await put('site/assets/app-3f2a9c1b.js', script)
  await put('site/plain.txt', '0123456789')
  await put('site/a b.txt', 'space')
  await put('site/big.bin', big)
  await put('site/pre.css', 'body{}'.repeat(300))
  await put('site/pre.css.br', 'made by the build')
  await put('site/.env', 'SECRET=1')
  await put('site/.well-known/security.txt', 'mail')
  await put('site/empty.txt', '')
  await symlink(join(folder, 'outside.txt'), join(folder, 'site/leak.txt'))
  await symlink(folder, join(folder, 'site/up'))
  await symlink('.env', join(folder, 'site/env.txt'))
  await symlink('about.html', join(folder, 'site/alias.html'))
  await mkdir(join(folder, 'bare'), { recursive: true })
  await writeFile(join(folder, 'bare/index.html'), 'bare')
  await put('ruled/static/index.html', 'ruled home')
  await put('ruled/static/there.html', 'a file')
  await put('ruled/static/lost.html', 'lost')
  await put('ruled/site-rules.json', JSON.stringify(rules))
  await put('broken/static/index.html', 'still here')
  await put('broken/site-rules.json', '{"redirects":')
  edge = await startEdge()
  await edge.route({
    'ruled.test': site({ folder: join(folder, 'ruled/static') }),
    'broken.test': site({ folder: join(folder, 'broken/static') }),
    'site.test': site(),
    'spa.test': site({ spa: true }),
    'bare.test': site({ folder: join(folder, 'bare') }),
    'page.test': site({ notFoundPage: 'about.html' }),
    'gone.test': site({ folder: join(folder, 'no such folder') }),
  })
})
afterAll(async () => {
  await edge.end()
  await rm(folder, { recursive: true, force: true })
})

describe('a static site', () => {
  test.each([
    ['site.test', '/', 200, '<h1>home</h1>', 'text/html; charset=utf-8', 'no-cache'],
    ['site.test', '/about', 200, 'about', 'text/html; charset=utf-8', 'no-cache'],
    ['site.test', '/about/', 200, 'about', 'text/html; charset=utf-8', 'no-cache'],
    ['site.test', '/about.html?x=1', 200, 'about', 'text/html; charset=utf-8', 'no-cache'],
    ['site.test', '/docs', 200, 'docs', 'text/html; charset=utf-8', 'no-cache'],
    ['site.test', '/docs/', 200, 'docs', 'text/html; charset=utf-8', 'no-cache'],
    ['site.test', '/alias.html', 200, 'about', 'text/html; charset=utf-8', 'no-cache'],
    [
      'site.test',
      '/assets/app-3f2a9c1b.js',
      200,
      script,
      'text/javascript; charset=utf-8',
      'public, max-age=31536000, immutable',
    ],
    ['site.test', '/a%20b.txt', 200, 'space', 'text/plain; charset=utf-8', 'public, max-age=0, must-revalidate'],
    ['site.test', '/empty.txt', 200, '', 'text/plain; charset=utf-8', 'public, max-age=0, must-revalidate'],
    ['site.test', '/.well-known/security.txt', 200, 'mail', 'text/plain; charset=utf-8', 'public, max-age=0, must-revalidate'],
    ['site.test', '/nothing', 404, 'not here', 'text/html; charset=utf-8', 'no-cache'],
    ['page.test', '/nothing', 404, 'about', 'text/html; charset=utf-8', 'no-cache'],
    ['spa.test', '/users/7', 200, '<h1>home</h1>', 'text/html; charset=utf-8', 'no-cache'],
    ['spa.test', '/assets/gone.js', 404, 'not here', 'text/html; charset=utf-8', 'no-cache'],
  ])('%s%s: %i', async (host, path, status, body, type, caching) => {
    const answer = await edge.request(host, path)
    expect([answer.status, answer.body, answer.headers['content-type'], answer.headers['cache-control']]).toEqual([
      status,
      body,
      type,
      caching,
    ])
  })

  test.each([
    '/leak.txt',
    '/up/outside.txt',
    '/../outside.txt',
    '/%2e%2e/outside.txt',
    '/..%2foutside.txt',
    '/.env',
    '/env.txt',
    '/%2eenv',
    '/docs/..%2f.env',
    '//etc/passwd',
    '/site/../../outside.txt',
  ])('does not serve hidden files or files outside: %s', async (path) => {
    const answer = await edge.request('site.test', path)
    expect([answer.status, answer.body]).toEqual([404, 'not here'])
  })

  test('without its own page is a 404 of the edge; a missing folder is 404', async () => {
    expect((await edge.request('bare.test', '/nothing')).status).toBe(404)
    expect((await edge.request('gone.test', '/')).status).toBe(404)
  })

  test('answers HEAD like GET without the body, and other methods with 405', async () => {
    const head = await edge.request('site.test', '/plain.txt', { method: 'HEAD' })
    expect([head.status, head.headers['content-length'], head.body]).toEqual([200, '10', ''])
    expect((await edge.request('site.test', '/big.bin', { method: 'HEAD' })).headers['content-length']).toBe(String(big.length))
    const post = await edge.request('site.test', '/plain.txt', { method: 'POST', body: 'x' })
    expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD'])
  })

  test('answers 304 if the client has the file, by ETag or by time', async () => {
    const first = await edge.request('site.test', '/plain.txt')
    const { etag, 'last-modified': modified } = first.headers
    expect(etag).toMatch(/^"[\w-]+"$/)
    const again = await edge.request('site.test', '/plain.txt', { headers: { 'if-none-match': `W/${etag}` } })
    expect([again.status, again.body, again.headers.etag]).toEqual([304, '', etag])
    expect((await edge.request('site.test', '/plain.txt', { headers: { 'if-modified-since': modified! } })).status).toBe(304)
    expect(
      (await edge.request('site.test', '/plain.txt', { headers: { 'if-none-match': '"other"', 'if-modified-since': modified! } }))
        .status,
    ).toBe(200)
  })

  test('sends ranges of small and of big files', async () => {
    const part = await edge.request('site.test', '/plain.txt', { headers: { range: 'bytes=2-4' } })
    expect([part.status, part.body, part.headers['content-range'], part.headers['content-length']]).toEqual([
      206,
      '234',
      'bytes 2-4/10',
      '3',
    ])
    const tail = await edge.request('site.test', '/big.bin', { headers: { range: 'bytes=-100000' } })
    expect(tail.status).toBe(206)
    expect(tail.bytes.equals(big.subarray(-100_000))).toBe(true)
    const beyond = await edge.request('site.test', '/plain.txt', { headers: { range: 'bytes=10-' } })
    expect([beyond.status, beyond.headers['content-range']]).toEqual([416, 'bytes */10'])
    expect(
      (await edge.request('site.test', '/plain.txt', { headers: { range: 'bytes=0-1', 'if-range': '"other"' } })).status,
    ).toBe(200)
  })

  test('streams big files completely', async () => {
    const answer = await edge.request('site.test', '/big.bin', { headers: { 'accept-encoding': 'br' } })
    expect(answer.headers['content-encoding']).toBeUndefined()
    expect(answer.bytes.equals(big)).toBe(true)
  })

  test.each([
    ['br', brotliDecompressSync],
    ['zstd', zstdDecompressSync],
    ['gzip', gunzipSync],
  ])('compresses text with %s and sends Vary; each encoding has its own ETag', async (encoding, decompress) => {
    const plain = await edge.request('site.test', '/assets/app-3f2a9c1b.js')
    const answer = await edge.request('site.test', '/assets/app-3f2a9c1b.js', { headers: { 'accept-encoding': encoding } })
    expect([answer.headers['content-encoding'], answer.headers.vary]).toEqual([encoding, 'accept-encoding'])
    expect(decompress(answer.bytes).toString()).toBe(script)
    expect(answer.bytes.length).toBeLessThan(script.length / 4)
    expect(answer.headers.etag).not.toBe(plain.headers.etag)
    const again = await edge.request('site.test', '/assets/app-3f2a9c1b.js', {
      headers: { 'accept-encoding': encoding, 'if-none-match': answer.headers.etag! },
    })
    expect(again.status).toBe(304)
  })

  test('prefers files compressed by the build, and does not compress small and binary files', async () => {
    expect((await edge.request('site.test', '/pre.css', { headers: { 'accept-encoding': 'br, gzip' } })).body).toBe(
      'made by the build',
    )
    expect(
      (await edge.request('site.test', '/about', { headers: { 'accept-encoding': 'br' } })).headers['content-encoding'],
    ).toBeUndefined()
  })

  test('of the next deployment is served at once, with new ETags for changed files only', async () => {
    const next = join(folder, 'next')
    await mkdir(next)
    await writeFile(join(next, 'index.html'), '<h1>next</h1>')
    await writeFile(join(next, 'plain.txt'), '0123456789')
    const before = {
      page: (await edge.request('site.test', '/')).headers.etag,
      text: (await edge.request('site.test', '/plain.txt')).headers.etag,
    }
    await edge.route({ 'site.test': site({ folder: next, deploymentId: 'dep2' }) })
    const page = await edge.request('site.test', '/', { headers: { 'if-none-match': before.page! } })
    expect([page.status, page.body]).toEqual([200, '<h1>next</h1>'])
    expect((await edge.request('site.test', '/plain.txt', { headers: { 'if-none-match': before.text! } })).status).toBe(304)
  })
})

describe('_redirects and _headers of a static site', () => {
  test.each([
    ['/old/a/b?x=1', 301, '/new/a/b?x=1'],
    ['/old/', 301, '/new/'],
    ['/away?z=2', 302, 'https://elsewhere.test/x?y=1'],
  ])('%s redirects: %i %s', async (path, status, location) => {
    const answer = await edge.request('ruled.test', path)
    expect([answer.status, answer.headers.location, answer.headers['x-frame-options']]).toEqual([status, location, 'DENY'])
  })

  test.each([
    ['/app/deep/link', 200, 'ruled home'],
    ['/gone', 404, 'lost'],
    ['/there', 200, 'a file'],
  ])('%s answers with a page of the site: %i', async (path, status, body) => {
    const answer = await edge.request('ruled.test', path)
    expect([answer.status, answer.body]).toEqual([status, body])
  })

  test('a header set for a path replaces the header of the edge, once', async () => {
    const { headers } = await edge.request('ruled.test', '/there')
    expect(headers).toMatchObject({ 'cache-control': 'max-age=60', 'content-type': 'text/plain', 'x-frame-options': 'DENY' })
    const unchanged = await edge.request('ruled.test', '/there', { headers: { 'if-none-match': String(headers.etag) } })
    expect([unchanged.status, unchanged.headers['cache-control']]).toEqual([304, 'max-age=60'])
  })

  test('the rules file is never served, and an invalid one is ignored', async () => {
    expect((await edge.request('ruled.test', '/../site-rules.json')).body).not.toContain('redirects')
    expect((await edge.request('broken.test', '/')).body).toBe('still here')
  })
})
