import { describe, expect, test } from 'vitest'
import { acceptedEncodings } from './accept-encoding.ts'
import { cacheControl } from './caching.ts'
import { contentType, isCompressible } from './content-types.ts'
import { byteRange, isUnchanged, mayResume } from './preconditions.ts'
import { candidates, isPagePath, sitePath } from './site-path.ts'

describe('the path of a static site', () => {
  test.each([
    ['/', ''],
    ['/about', 'about'],
    ['/a%20b/c.html?x=1#y', 'a b/c.html'],
    ['/caf\xc3\xa9', 'café'],
    ['/.well-known/security.txt', '.well-known/security.txt'],
  ])('%s is %s', (target, path) => {
    expect(sitePath(target)).toBe(path)
  })

  test.each([
    '/../etc/passwd',
    '/%2e%2e/etc/passwd',
    '/a/..%2f..%2fetc/passwd',
    '/.env',
    '/a/.git/config',
    '/%2eenv',
    '/a\\..\\b',
    '/a%00b',
    '/%zz',
    '//etc/passwd',
    '/a//b',
    '/a/.well-known/x',
    '*',
  ])('%s is refused', (target) => {
    expect(sitePath(target)).toBeUndefined()
  })

  test('may omit .html and index.html', () => {
    expect(candidates('about')).toEqual(['about', 'about.html', 'about/index.html'])
    expect(candidates('docs/')).toEqual(['docs/index.html', 'docs.html'])
    expect(candidates('')).toEqual(['index.html'])
  })

  test('is a page of a single-page application unless it looks like a file', () => {
    expect(isPagePath('users/7', '*/*')).toBe(true)
    expect(isPagePath('users/j.doe', 'text/html,*/*')).toBe(true)
    expect(isPagePath('assets/gone.js', '*/*')).toBe(false)
  })
})

describe('caching of static files', () => {
  test.each(['assets/index-BkZ3x9aQ.js', 'app.3f2a9c1b.css', 'a/chunk-vendors.0a1b2c3d4e5f.js', 'main.1a2b3c4d.js.map'])(
    '%s is cached for a year',
    (path) => {
      expect(cacheControl(path)).toBe('public, max-age=31536000, immutable')
    },
  )

  test.each([
    'app.js',
    'photo-20240131.jpg',
    'my-component.js',
    'jquery-3.7.1.min.js',
    'some-landingpage.css',
    'robots.txt',
    'v1.2.3/README.txt',
    'deadbeef.js',
  ])('%s is revalidated each time', (path) => {
    expect(cacheControl(path)).toBe('public, max-age=0, must-revalidate')
  })

  test('pages are never cached without revalidation', () => {
    expect(cacheControl('index.html')).toBe('no-cache')
    expect(cacheControl('a-3f2a9c1b.html')).toBe('no-cache')
  })
})

describe('preconditions and ranges', () => {
  const file = { etag: '"abc"', modifiedMs: Date.parse('2030-01-01T00:00:00.500Z') }

  test('If-None-Match is compared weakly; If-Modified-Since applies only without it', () => {
    expect(isUnchanged(file, '"x", W/"abc"', undefined)).toBe(true)
    expect(isUnchanged(file, '*', undefined)).toBe(true)
    expect(isUnchanged(file, '"x"', 'Wed, 01 Jan 2031 00:00:00 GMT')).toBe(false)
    expect(isUnchanged(file, undefined, 'Tue, 01 Jan 2030 00:00:00 GMT')).toBe(true)
    expect(isUnchanged(file, undefined, 'Mon, 31 Dec 2029 23:59:59 GMT')).toBe(false)
    expect(isUnchanged(file, undefined, 'soon')).toBe(false)
    expect(isUnchanged(file, undefined, undefined)).toBe(false)
  })

  test('If-Range requires exactly the same file', () => {
    expect(mayResume(file, undefined)).toBe(true)
    expect(mayResume(file, '"abc"')).toBe(true)
    expect(mayResume(file, 'W/"abc"')).toBe(false)
    expect(mayResume(file, 'Tue, 01 Jan 2030 00:00:00 GMT')).toBe(true)
    expect(mayResume(file, 'Tue, 01 Jan 2030 00:00:01 GMT')).toBe(false)
  })

  test.each([
    ['bytes=0-4', { first: 0, last: 4 }],
    ['bytes=5-', { first: 5, last: 9 }],
    ['bytes=-3', { first: 7, last: 9 }],
    ['bytes=-30', { first: 0, last: 9 }],
    ['bytes=0-100', { first: 0, last: 9 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=4-2', 'whole'],
    ['bytes=0-1,3-4', 'whole'],
    ['lines=0-1', 'whole'],
    [undefined, 'whole'],
  ])('%s of ten bytes', (header, range) => {
    expect(byteRange(header, 10)).toEqual(range)
  })
})

describe('encodings', () => {
  test.each([
    ['gzip, deflate, br, zstd', ['br', 'zstd', 'gzip']],
    ['gzip;q=1, br;q=0.5', ['gzip', 'br']],
    ['br;q=0, gzip', ['gzip']],
    ['*', ['br', 'zstd', 'gzip']],
    ['identity', []],
    ['gzip;q=nonsense', []],
    [undefined, []],
  ])('%s accepts %j', (header, encodings) => {
    expect(acceptedEncodings(header)).toEqual(encodings)
  })

  test('only uncompressed types are compressed', () => {
    for (const path of ['a.html', 'a.js', 'a.css', 'a.svg', 'a.json', 'a.wasm', 'a.webmanifest'])
      expect(isCompressible(contentType(path)), path).toBe(true)
    for (const path of ['a.png', 'a.woff2', 'a.mp4', 'a.zip', 'a.unknown', 'a'])
      expect(isCompressible(contentType(path)), path).toBe(false)
  })

  test('content types that browsers check are correct', () => {
    expect(contentType('x/a.MJS')).toBe('text/javascript; charset=utf-8')
    expect(contentType('a.wasm')).toBe('application/wasm')
    expect(contentType('.html')).toBe('application/octet-stream')
  })
})
