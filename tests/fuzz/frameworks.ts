import querystring from 'node:querystring'
import url from 'node:url'

/** How common servers read the path of a request target, each modelled on its source; undefined if the server rejects it. */
export type Reading = (target: string) => string | undefined

const tryDecode = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
const withoutQuery = (target: string) => target.split('?')[0]!
const latin1Unescaped = (text: string) =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
const utf8 = (bytes: string) => Buffer.from(bytes, 'latin1').toString('utf8')

/** nginx: decode, then merge slashes and resolve dots in one pass. */
function nginx(target: string): string | undefined {
  const path = latin1Unescaped(target.split(/[?#]/)[0]!)
  if (path.includes('\0')) return undefined
  const kept: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') {
      if (kept.length === 0) return undefined
      kept.pop()
    } else if (segment !== '' && segment !== '.') kept.push(segment)
  }
  return `/${kept.join('/')}`
}

/** Tomcat and Spring: parameters are removed first, then escapes and dots are resolved. */
function tomcat(target: string): string | undefined {
  const path = utf8(latin1Unescaped(withoutQuery(target).replaceAll(/;[^/]*/g, ''))).replaceAll('\\', '/')
  return url.resolve('http://h/', path.replaceAll(/\/+/g, '/')).replace('http://h', '')
}

/** Frameworks on Node that build a URL from the target. */
function whatwg(target: string): string | undefined {
  try {
    return new URL(target, 'http://h').pathname
  } catch {
    return undefined
  }
}

const lower =
  (reading: Reading): Reading =>
  (target) =>
    reading(target)?.toLowerCase()
const then =
  (reading: Reading, next: (path: string) => string | undefined): Reading =>
  (target) => {
    const path = reading(target)
    return path === undefined ? undefined : next(path)
  }
const express: Reading = (target) =>
  target.startsWith('/') && !/[#\t\n\f\r \xa0\ufeff]/.test(withoutQuery(target))
    ? withoutQuery(target)
    : (url.parse(target).pathname ?? undefined)
const wsgi: Reading = (target) => utf8(latin1Unescaped(withoutQuery(target)))
const rack: Reading = (target) => utf8(querystring.unescape(withoutQuery(target)))
const normalized = (path: string) => new URL(`http://h${path.replaceAll(/[?#]/g, '_').replaceAll(/\/+/g, '/')}`).pathname
const windows = (path: string) =>
  path
    .replaceAll('\\', '/')
    .split('/')
    .map((name) => (/^\.*$/.test(name) ? name : name.replace(/[. ]+$/, '')))
    .join('/')

export const frameworks: Record<string, Reading> = {
  raw: withoutQuery,
  express: lower(express),
  'express, decoded': lower(then(express, tryDecode)),
  'express.static': then(then(express, tryDecode), (path) => (path.includes('\0') ? undefined : normalized(path))),
  fastify: then(
    (target) => target.split(/[?#;]/)[0],
    (path) => tryDecode(path.replaceAll(/%2f/gi, '%252F')),
  ),
  'koa, next': then(whatwg, tryDecode),
  whatwg,
  nginx,
  'nginx, then php': then(nginx, (path) => latin1Unescaped(path)),
  werkzeug: wsgi,
  'werkzeug, merged': then(wsgi, (path) => path.replaceAll(/\/{2,}/g, '/')),
  'django, behind a proxy that normalizes': then(wsgi, (path) => wsgi(normalized(path))),
  rack,
  tomcat,
  'spring, decoded twice': then(tomcat, (path) => utf8(latin1Unescaped(path))),
  iis: lower(then(then(wsgi, windows), normalized)),
  'iis, decoded twice': lower(
    then(
      then(
        then(wsgi, (path) => wsgi(path)),
        windows,
      ),
      normalized,
    ),
  ),
  'ignores what is no utf-8': (target) => wsgi(target)?.replaceAll('\ufffd', ''),
  'cuts at NUL': then(wsgi, (path) => path.split('\0')[0]),
  composed: (target) => wsgi(target)?.normalize('NFKC'),
}
