/**
 * How the edge handles a header field. `pass`: forwarded, like every unknown field. `hop`: valid for one connection, never forwarded.
 * `forged`: no client may set it, never forwarded. `forwardedOther`: forwarded only from a trusted proxy.
 */
export type HeaderRole =
  | 'pass'
  | 'host'
  | 'contentLength'
  | 'transferEncoding'
  | 'connection'
  | 'upgrade'
  | 'expect'
  | 'hop'
  | 'forged'
  | 'forwardedFor'
  | 'forwardedProto'
  | 'forwardedHost'
  | 'forwardedOther'
  | 'requestId'
  | 'userAgent'
  | 'methodOverride'
  | 'keepAlive'

export interface HeaderName {
  lower: string
  role: HeaderRole
}

const roles: Record<string, HeaderRole> = {
  host: 'host',
  'content-length': 'contentLength',
  'transfer-encoding': 'transferEncoding',
  connection: 'connection',
  upgrade: 'upgrade',
  expect: 'expect',
  'keep-alive': 'keepAlive',
  'proxy-connection': 'hop',
  'proxy-authorization': 'hop',
  te: 'hop',
  'http2-settings': 'hop',
  'x-forwarded-for': 'forwardedFor',
  'x-forwarded-proto': 'forwardedProto',
  'x-forwarded-host': 'forwardedHost',
  // Names from which frameworks also read an address or origin: only a trusted proxy may set them.
  'x-forwarded': 'forwardedOther',
  'x-real-ip': 'forwardedOther',
  'x-remote-addr': 'forwardedOther',
  'x-scheme': 'forwardedOther',
  'x-url-scheme': 'forwardedOther',
  'front-end-https': 'forwardedOther',
  'cf-visitor': 'forwardedOther',
  'cf-pseudo-ipv4': 'forwardedOther',
  'x-envoy-external-address': 'forwardedOther',
  'forwarded-for': 'forwardedOther',
  forwarded: 'forwardedOther',
  // These name another path or host than the one that rules were checked for: no client may set them.
  'x-rewrite-url': 'forged',
  'x-host': 'forged',
  'x-http-host-override': 'forged',
  // CGI programs read it as HTTP_PROXY, and would send their outgoing requests through a proxy that the client chose.
  proxy: 'forged',
  // Next treats such a request as its own and skips the middleware, which may check authentication.
  'x-middleware-subrequest': 'forged',
  // nginx in front of the edge sets them: read by `connection/front.ts`, and never forwarded.
  'berth-front': 'forged',
  'berth-front-body': 'forged',
  'berth-front-method': 'forged',
  'berth-front-refusal': 'forged',
  'berth-front-target': 'forged',
  'x-request-id': 'requestId',
  'user-agent': 'userAgent',
  // Frameworks treat the request as one of this method: rules by method check both.
  'x-http-method-override': 'methodOverride',
  'x-http-method': 'methodOverride',
  'x-method-override': 'methodOverride',
}

/** X-Client-IP, CF-Connecting-IP, WL-Proxy-Client-IP, X-Azure-ClientIP, Fly-Client-IP, X-AppEngine-User-IP … */
const addressOfClient = /(?:^|-)(?:client|connecting|originating|remote|user|proxyuser|client-connection|socket)-?ip(?:v[46])?$/

/** Matches whole families of names: a list would always be incomplete. */
function roleOf(name: string): HeaderRole | undefined {
  if (Object.hasOwn(roles, name)) return roles[name]
  if (name.startsWith('x-forwarded-') || name.endsWith('-forwarded-for') || addressOfClient.test(name)) return 'forwardedOther'
  return name.startsWith('x-original-') ? 'forged' : undefined
}

/**
 * Lines ended by CRLF, without control characters except tab: two parsers could disagree about a CR without LF, a LF without CR and
 * the others. The expression runs in linear time on any input.
 */
export const plainLines = /^(?:[\t\x20-\x7e\x80-\xff]+\r\n)+$/

/** A token by RFC 9110, limited in length so that clients cannot fill the cache below with long names. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/

const cache = new Map<string, HeaderName>()
const maxCached = 2_000
/**
 * The first names of each length and first letter: comparing them in place is cheaper than a slice and its hash. Few in each place,
 * so that clients cannot make the comparison long.
 */
const places: { raw: string; name: HeaderName }[][] = Array.from({ length: 1024 }, () => [])
const maxInPlace = 4

/** Classifies the field name between two positions; the result is cached. Undefined if the name is invalid. */
export function headerName(text: string, from: number, to: number): HeaderName | undefined {
  const place = places[((to - from) & 31) * 32 + (text.charCodeAt(from) & 31)]!
  for (let at = 0; at < place.length; at += 1) {
    const { raw, name } = place[at]!
    if (raw.length === to - from && text.startsWith(raw, from)) return name
  }
  const rawName = text.slice(from, to)
  return cache.get(rawName) ?? classify(rawName)
}

function classify(rawName: string): HeaderName | undefined {
  if (!token.test(rawName)) return undefined
  const lower = rawName.toLowerCase()
  // CGI-like servers read X_Forwarded_For, some also X.Forwarded.For, as X-Forwarded-For: such a name has no other use.
  const role = roleOf(lower) ?? (roleOf(lower.replaceAll(/[^a-z0-9]/g, '-')) ? 'forged' : 'pass')
  const name = { lower, role }
  // The name is a slice of a whole head; a flat copy avoids keeping that head in memory.
  remember(Buffer.from(rawName, 'latin1').toString('latin1'), name)
  return name
}

function remember(raw: string, name: HeaderName): void {
  if (cache.size >= maxCached) {
    cache.clear()
    for (const place of places) place.length = 0
  }
  cache.set(raw, name)
  const place = places[(raw.length & 31) * 32 + (raw.charCodeAt(0) & 31)]!
  if (place.length < maxInPlace) place.push({ raw, name })
}

/** A number of at most 15 decimal digits, -1 for any other text. `Number` accepts more, and costs more. */
export function decimal(text: string): number {
  if (text === '' || text.length > 15) return -1
  let value = 0
  for (let at = 0; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return -1
    value = value * 10 + digit
  }
  return value
}

/**
 * The text between two positions, without surrounding spaces and tabs. `trim` would remove more: a no-break space is part of the
 * value.
 */
export function fieldValue(text: string, from: number, to: number): string {
  let first = from
  let end = to
  while (first < end && isBlank(text.charCodeAt(first))) first += 1
  while (end > first && isBlank(text.charCodeAt(end - 1))) end -= 1
  return text.slice(first, end)
}

const isBlank = (code: number) => code === 32 || code === 9

/** Removes the header lines with these names in lower case. Framing, Host and the edge's own lines are not affected: they are written later. */
export function withoutNamed(lines: string, names: readonly string[]): string {
  const removed = new Set(names.filter((name) => token.test(name)))
  if (removed.size === 0) return lines
  return lines
    .split('\r\n')
    .filter((line) => line && !removed.has(line.slice(0, line.indexOf(':')).toLowerCase()))
    .map((line) => `${line}\r\n`)
    .join('')
}

/** The options of a Connection header, in lower case. */
export const connectionOptions = (value: string) =>
  value
    .toLowerCase()
    .split(',')
    .map((option) => fieldValue(option, 0, option.length))
    .filter(Boolean)
