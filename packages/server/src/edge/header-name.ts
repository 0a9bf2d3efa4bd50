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
  | 'forwardedFor'
  | 'forwardedProto'
  | 'forwardedHost'
  | 'forwardedOther'
  | 'requestId'
  | 'userAgent'
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
  'x-forwarded-port': 'forwardedOther',
  'x-forwarded-prefix': 'forwardedOther',
  'x-forwarded-server': 'forwardedOther',
  'x-forwarded-scheme': 'forwardedOther',
  'x-forwarded-ssl': 'forwardedOther',
  'x-real-ip': 'forwardedOther',
  'x-client-ip': 'forwardedOther',
  'true-client-ip': 'forwardedOther',
  'cf-connecting-ip': 'forwardedOther',
  forwarded: 'forwardedOther',
  'x-request-id': 'requestId',
  'user-agent': 'userAgent',
}

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
  // Underscores: CGI-like servers read X_Forwarded_For as X-Forwarded-For, so it gets the same treatment.
  const lower = written.toLowerCase()
  const role = roles[lower] ?? (lower.includes('_') && roles[lower.replaceAll('_', '-')] ? 'hop' : 'pass')
  const name = { lower, role }
  if (known.size >= knownAtMost) known.clear()
  // The key is a slice of a whole head; a flat copy keeps that head from being held in memory.
  known.set(Buffer.from(written, 'latin1').toString('latin1'), name)
  return name
}

/** Lines without those that a Connection header names. Framing and Host are not the sender's to take away. */
export function withoutNamed(lines: string, names: readonly string[]): string {
  const gone = new Set(names.filter((name) => token.test(name) && name !== 'content-length' && name !== 'host'))
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
    .map((option) => option.trim())
    .filter(Boolean)
