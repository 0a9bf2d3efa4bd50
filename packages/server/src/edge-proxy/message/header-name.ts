/** What the edge does with a header field; everything it has no opinion about is `pass`. */
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
  // Names that frameworks also read an address or origin from: only a trusted proxy may set them.
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
  // Another path or host than the one that was judged: nobody may set it.
  'x-rewrite-url': 'forged',
  'x-host': 'forged',
  'x-http-host-override': 'forged',
  // Programs run the CGI way take it for HTTP_PROXY, and send what they ask of others through whoever set it.
  proxy: 'forged',
  // Next takes it for its own, and leaves out the middleware that would have asked who it is.
  'x-middleware-subrequest': 'forged',
  'x-request-id': 'requestId',
  'user-agent': 'userAgent',
  // Frameworks take a request for one of this method: rules by method judge both.
  'x-http-method-override': 'methodOverride',
  'x-http-method': 'methodOverride',
  'x-method-override': 'methodOverride',
}

/** X-Client-IP, CF-Connecting-IP, WL-Proxy-Client-IP, X-Azure-ClientIP, Fly-Client-IP, X-AppEngine-User-IP … */
const addressOfClient = /(?:^|-)(?:client|connecting|originating|remote|user|proxyuser|client-connection|socket)-?ip(?:v[46])?$/

/** Whole families, whatever comes behind: a list of names would always lack one. */
function roleOf(name: string): HeaderRole | undefined {
  if (Object.hasOwn(roles, name)) return roles[name]
  if (name.startsWith('x-forwarded-') || name.endsWith('-forwarded-for') || addressOfClient.test(name)) return 'forwardedOther'
  return name.startsWith('x-original-') ? 'forged' : undefined
}

/**
 * Lines ended by CRLF and no other control character than the tab: two parsers could disagree about a CR without its LF, a LF
 * without its CR and the rest. Written so that it is one walk, the same for good and bad heads.
 */
export const plainLines = /^(?:[\t\x20-\x7e\x80-\xff]+\r\n)+$/

/** A token by RFC 9110, bounded so that nobody fills the cache below with long names. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/

const known = new Map<string, HeaderName>()
const knownAtMost = 2_000

/** The name as it was written, judged once and remembered: undefined when it is not a field name at all. */
export function headerName(written: string): HeaderName | undefined {
  const name = known.get(written)
  if (name) return name
  return learn(written)
}

function learn(written: string): HeaderName | undefined {
  if (!token.test(written)) return undefined
  const lower = written.toLowerCase()
  // CGI-like servers read X_Forwarded_For, some also X.Forwarded.For, as X-Forwarded-For: such a name has no other use.
  const role = roleOf(lower) ?? (roleOf(lower.replaceAll(/[^a-z0-9]/g, '-')) ? 'forged' : 'pass')
  const name = { lower, role }
  if (known.size >= knownAtMost) known.clear()
  // The key is a slice of a whole head; a flat copy keeps that head from being held in memory.
  known.set(Buffer.from(written, 'latin1').toString('latin1'), name)
  return name
}

/** What stands between two places, without the space and tab around it. `trim` takes away more: a no-break space is part of it. */
export function fieldValue(text: string, from: number, to: number): string {
  let first = from
  let end = to
  while (first < end && isBlank(text.charCodeAt(first))) first += 1
  while (end > first && isBlank(text.charCodeAt(end - 1))) end -= 1
  return text.slice(first, end)
}

const isBlank = (code: number) => code === 32 || code === 9

/** Lines without those that a Connection header names. Framing, Host and our own are not among them: they are written later. */
export function withoutNamed(lines: string, names: readonly string[]): string {
  const gone = new Set(names.filter((name) => token.test(name)))
  if (gone.size === 0) return lines
  return lines
    .split('\r\n')
    .filter((line) => line && !gone.has(line.slice(0, line.indexOf(':')).toLowerCase()))
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
