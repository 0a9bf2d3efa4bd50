import { connectionOptions, decimal, fieldValue, headerName, plainLines, withoutNamed } from './header-name.ts'

/** A request head that can be read in only one way: every ambiguous head was rejected. */
export interface RequestHead {
  method: string
  /** Origin form, or `*` for OPTIONS. */
  target: string
  /** HTTP/1.0 or 1.1. */
  minor: 0 | 1
  /** Lower case, no port, no trailing dot. */
  host: string
  /** Host header as sent, for the upstream. */
  hostHeader: string
  /** Header lines that are forwarded to the upstream unchanged, each ended by CRLF. */
  forwardedLines: string
  /** Lines that are forwarded only from a trusted proxy (Forwarded, X-Real-IP). */
  trustedLines: string
  /** Value of Content-Length; -1 without one. */
  contentLength: number
  body: RequestBody
  keepAlive: boolean
  /** Protocol of a connection upgrade, empty if none is requested. */
  upgrade: string
  expectContinue: boolean
  userAgent: string
  /** Other methods that its headers name, separated by commas. */
  methodOverride: string
  requestId: string
  forwardedFor: string
  forwardedProto: string
  forwardedHost: string
  /** The whole head, for rarely used headers. */
  text: string
}

export type RequestBody = { kind: 'none' } | { kind: 'sized'; length: number } | { kind: 'chunked' }

/** Why a head was rejected: the status to respond with, and text for the page. */
export class HeadFault {
  readonly status: number
  readonly reason: string
  constructor(status: number, reason: string) {
    this.status = status
    this.reason = reason
  }
}

export const emptyBody: RequestBody = { kind: 'none' }
const chunkedBody: RequestBody = { kind: 'chunked' }

const methodForm = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}$/
const commonMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const hostForm = /^(\[[0-9A-Fa-f:.]{2,45}\]|[0-9A-Za-z._-]{1,253})(?::(\d{1,5}))?$/
const absoluteForm = /^https?:\/\/([^/?#]*)([/?][^#]*)?$/i
const rawBytes = /[\x80-\xff]/
const escaped = (byte: string) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`
const plainRequestId = /^[0-9A-Za-z._:/+=-]{1,128}$/

/** `text` is the head up to and including the CRLF of its last line, without the empty line. */
export function parseRequestHead(text: string): RequestHead | HeadFault {
  if (!plainLines.test(text)) return badRequest('control characters in the headers')
  const lineEnd = text.indexOf('\r\n')
  const methodEnd = text.indexOf(' ')
  const targetEnd = text.lastIndexOf(' ', lineEnd)
  const method = text.slice(0, Math.max(0, methodEnd))
  const target = text.slice(methodEnd + 1, targetEnd)
  const version = text.slice(targetEnd + 1, lineEnd)
  if (!commonMethods.has(method) && !methodForm.test(method)) return badRequest('malformed request line')
  if (target === '' || target.includes(' ') || target.includes('\t')) return badRequest('malformed request line')
  if (version !== 'HTTP/1.1' && version !== 'HTTP/1.0') return otherVersion(version)
  if (method === 'CONNECT' || method === 'TRACE') return new HeadFault(405, `${method} is not supported`)
  const head = emptyHead(text, method, target, version === 'HTTP/1.1' ? 1 : 0)
  return readFields(head, lineEnd + 2) ?? readTarget(head) ?? readHost(head) ?? head
}

/** Value of a header by its lower-case name, lists joined; for headers that only some targets read. */
export function headerValue(head: RequestHead, name: string): string | undefined {
  let found: string | undefined
  const { text } = head
  let at = text.indexOf('\r\n') + 2
  while (at < text.length) {
    const end = text.indexOf('\r\n', at)
    const colon = text.indexOf(':', at)
    if (colon - at === name.length && text.slice(at, colon).toLowerCase() === name) {
      const value = fieldValue(text, colon + 1, end)
      found = found === undefined ? value : `${found}, ${value}`
    }
    at = end + 2
  }
  return found
}

const otherVersion = (version: string) =>
  /^HTTP\/\d\.\d$/.test(version)
    ? new HeadFault(505, 'only HTTP/1.1 and HTTP/1.0 are supported')
    : badRequest('malformed request line')

const badRequest = (reason: string) => new HeadFault(400, reason)

const emptyHead = (text: string, method: string, target: string, minor: 0 | 1): RequestHead => ({
  method,
  target,
  minor,
  host: '',
  hostHeader: '',
  forwardedLines: '',
  trustedLines: '',
  contentLength: -1,
  body: emptyBody,
  keepAlive: minor === 1,
  upgrade: '',
  expectContinue: false,
  userAgent: '',
  methodOverride: '',
  requestId: '',
  forwardedFor: '',
  forwardedProto: '',
  forwardedHost: '',
  text,
})

/**
 * Reads the header lines in one pass. Lines that are forwarded unchanged are copied in runs, so a line that the edge handles ends
 * the run before it.
 */
function readFields(head: RequestHead, from: number): HeadFault | undefined {
  const { text } = head
  const seen = resetSeenFields()
  let runStart = from
  let at = from
  while (at < text.length) {
    const end = text.indexOf('\r\n', at)
    const colon = text.indexOf(':', at)
    if (colon === -1 || colon > end) return badRequest('a header line without a colon')
    const name = headerName(text, at, colon)
    if (!name) return badRequest('an invalid header name')
    if (name.role !== 'pass') {
      // Node does not accept a tab as white space here, other parsers do.
      if (name.role === 'transferEncoding' && text.slice(colon, end).includes('\t'))
        return badRequest('a tab in the transfer encoding')
      const isForwarded = readField(head, seen, name.role, fieldValue(text, colon + 1, end))
      if (!isForwarded) {
        if (at > runStart) head.forwardedLines += text.slice(runStart, at)
        if (name.role === 'forwardedOther') head.trustedLines += text.slice(at, end + 2)
        runStart = end + 2
      }
    }
    at = end + 2
  }
  if (runStart < text.length) head.forwardedLines += text.slice(runStart)
  return checkFraming(head, seen)
}

/** Reused for every head, since heads are parsed one at a time. */
const seenFields: SeenFields = { host: 0, length: '', lengths: 0, encoding: '', encodings: 0, connection: '', upgrade: '' }

function resetSeenFields(): SeenFields {
  seenFields.host = 0
  seenFields.lengths = 0
  seenFields.encodings = 0
  seenFields.length = ''
  seenFields.encoding = ''
  seenFields.connection = ''
  seenFields.upgrade = ''
  return seenFields
}

/** Values of the headers that are checked together after the last line; `host`, `lengths` and `encodings` count their headers. */
interface SeenFields {
  host: number
  length: string
  lengths: number
  encoding: string
  encodings: number
  connection: string
  upgrade: string
}

/** True if the line is also forwarded. */
function readField(head: RequestHead, seen: SeenFields, role: string, value: string): boolean {
  switch (role) {
    case 'userAgent':
      // Frameworks use the first of several, the last or all of them: a rule checks all.
      head.userAgent = head.userAgent ? `${head.userAgent}, ${value}` : value
      return true
    case 'methodOverride':
      head.methodOverride = head.methodOverride ? `${head.methodOverride},${value}` : value
      return true
    case 'host':
      seen.host += 1
      head.hostHeader = value
      return false
    case 'contentLength':
      seen.lengths += 1
      seen.length = value
      return false
    case 'transferEncoding':
      seen.encodings += 1
      seen.encoding = value
      return false
    case 'connection':
      seen.connection += seen.connection ? `,${value}` : value
      return false
    case 'upgrade':
      seen.upgrade = seen.upgrade ? `${seen.upgrade}, ${value}` : value
      return false
    case 'expect':
      if (value.toLowerCase() !== '100-continue' || head.minor === 0) return false
      head.expectContinue = true
      return true
    case 'requestId':
      if (plainRequestId.test(value)) head.requestId = value
      return false
    case 'forwardedFor':
      head.forwardedFor = head.forwardedFor ? `${head.forwardedFor}, ${value}` : value
      return false
    case 'forwardedProto':
      head.forwardedProto = value
      return false
    case 'forwardedHost':
      head.forwardedHost = value
      return false
    default:
      return false
  }
}

/** Checks the framing headers together. A length beside an encoding, or either one twice, is used for request smuggling. */
function checkFraming(head: RequestHead, seen: SeenFields): HeadFault | undefined {
  if (seen.lengths > 1 || seen.encodings > 1 || (seen.lengths && seen.encodings)) return badRequest('more than one body length')
  if (seen.encodings) {
    if (head.minor === 0) return badRequest('a transfer encoding in HTTP/1.0')
    if (seen.encoding.toLowerCase() !== 'chunked') return new HeadFault(501, 'only the chunked transfer encoding is supported')
    head.body = chunkedBody
  } else if (seen.lengths) {
    const length = decimal(seen.length)
    if (length === -1) return badRequest('a content length that is not a number')
    head.contentLength = length
    if (length > 0) head.body = { kind: 'sized', length }
  }
  if (seen.host > 1) return badRequest('more than one Host')
  if (seen.host === 0 && head.minor === 1) return badRequest('no Host')
  return seen.connection ? readConnection(head, seen) : undefined
}

function readConnection(head: RequestHead, seen: SeenFields): HeadFault | undefined {
  const named = connectionOptions(seen.connection)
  if (named.includes('close')) head.keepAlive = false
  else if (named.includes('keep-alive')) head.keepAlive = true
  if (named.includes('upgrade') && head.minor === 1) {
    const protocol = seen.upgrade
    // h2c would carry a second protocol past every rule.
    if (/^[\w!#$%&'*+\-.^`|~/, ]{1,128}$/.test(protocol) && !/\bh2c\b|http\/2/i.test(protocol)) head.upgrade = protocol
    if (head.upgrade && head.body.kind !== 'none') return badRequest('an upgrade with a body')
  }
  const others = named.filter((option) => !['close', 'keep-alive', 'upgrade'].includes(option))
  if (others.length > 0) head.forwardedLines = withoutNamed(head.forwardedLines, others)
  return undefined
}

function readTarget(head: RequestHead): HeadFault | undefined {
  // Some servers reject raw bytes, all accept their escapes.
  if (rawBytes.test(head.target)) head.target = head.target.replaceAll(/[\x80-\xff]/g, escaped)
  if (head.target.charCodeAt(0) === 47) return undefined
  if (head.target === '*') return head.method === 'OPTIONS' ? undefined : badRequest('malformed request target')
  const absolute = absoluteForm.exec(head.target)
  if (!absolute) return badRequest('malformed request target')
  // The authority of an absolute target overrides Host (RFC 9112 3.2.2).
  head.hostHeader = absolute[1]!
  const path = absolute[2] ?? '/'
  head.target = path.startsWith('/') ? path : `/${path}`
  return undefined
}

const hosts = new Map<string, string>()
const maxHosts = 5_000

function readHost(head: RequestHead): HeadFault | undefined {
  const written = head.hostHeader
  const cachedHost = hosts.get(written)
  if (cachedHost !== undefined) {
    head.host = cachedHost
    return undefined
  }
  if (written === '' && head.minor === 0) return undefined
  const form = hostForm.exec(written)
  if (!form || Number(form[2] ?? 0) > 65_535) return badRequest('malformed Host')
  head.host = form[1]!.toLowerCase().replace(/\.$/, '')
  if (hosts.size >= maxHosts) hosts.clear()
  hosts.set(Buffer.from(written, 'latin1').toString('latin1'), head.host)
  return undefined
}
