import { connectionOptions, decimal, fieldValue, headerName, plainLines, withoutNamed } from './header-name.ts'

/** The head of an upstream's response. */
export interface ResponseHead {
  status: number
  /** `200 OK`, as it is sent to the client. */
  statusLine: string
  /** Header lines that are forwarded to the client, each ended by CRLF. */
  forwardedLines: string
  body: ResponseBody
  /** Value of Content-Length; -1 without one. With HEAD and 304 it is not the body's size. */
  contentLength: number
  /** True if the upstream allows its connection to be reused. */
  keepAlive: boolean
  /** How long the upstream keeps an idle connection, according to its Keep-Alive header; 0 without one. */
  keepAliveMs: number
  upgrade: string
  hasRequestId: boolean
}

/** -1: chunked; -2: until the upstream closes; otherwise the number of bytes. */
export type ResponseBody = number
export const chunked = -1
export const untilClose = -2

const statusLineForm = /^HTTP\/1\.[01] [1-9]\d\d(?: |$)/

/** Undefined if the response is ambiguous. `text` ends with the CRLF of its last line. */
export function parseResponseHead(text: string, requestMethod: string): ResponseHead | undefined {
  if (!plainLines.test(text)) return undefined
  const lineEnd = text.indexOf('\r\n')
  const line = text.slice(0, lineEnd)
  if (!statusLineForm.test(line)) return undefined
  const head: ResponseHead = {
    status: Number(line.slice(9, 12)),
    statusLine: line.length > 12 ? line.slice(9) : `${line.slice(9)} `,
    forwardedLines: '',
    body: untilClose,
    contentLength: -1,
    keepAlive: line.charCodeAt(7) === 49,
    keepAliveMs: 0,
    upgrade: '',
    hasRequestId: false,
  }
  return readFields(head, text, lineEnd + 2, requestMethod) ? head : undefined
}

function readFields(head: ResponseHead, text: string, from: number, requestMethod: string): boolean {
  let lengths = 0
  let length = untilClose
  let encodings = 0
  let encoding = ''
  let connection = ''
  let runStart = from
  let at = from
  while (at < text.length) {
    const end = text.indexOf('\r\n', at)
    const colon = text.indexOf(':', at)
    if (colon === -1 || colon > end) return false
    const name = headerName(text, at, colon)
    if (!name) return false
    let isForwarded = true
    switch (name.role) {
      case 'contentLength':
        lengths += 1
        length = decimal(fieldValue(text, colon + 1, end))
        isForwarded = false
        break
      case 'transferEncoding':
        encodings += 1
        if (text.slice(colon, end).includes('\t')) return false
        encoding = fieldValue(text, colon + 1, end).toLowerCase()
        isForwarded = false
        break
      case 'connection':
        connection = connection ? `${connection},${text.slice(colon + 1, end)}` : text.slice(colon + 1, end)
        isForwarded = false
        break
      case 'keepAlive':
        head.keepAliveMs = Number(/timeout=(\d{1,6})/i.exec(text.slice(colon + 1, end))?.[1] ?? 0) * 1000
        isForwarded = false
        break
      case 'upgrade':
        head.upgrade = fieldValue(text, colon + 1, end)
        isForwarded = false
        break
      case 'requestId':
        head.hasRequestId = true
        break
      case 'hop':
        isForwarded = name.lower === 'te'
        break
    }
    if (!isForwarded) {
      if (at > runStart) head.forwardedLines += text.slice(runStart, at)
      runStart = end + 2
    }
    at = end + 2
  }
  if (runStart < text.length) head.forwardedLines += runStart === from ? text.slice(from) : text.slice(runStart)
  if (connection && connection !== ' keep-alive') readConnection(head, connectionOptions(connection))
  else if (connection) head.keepAlive = true
  if (lengths > 1 || encodings > 1 || (lengths > 0 && encodings > 0)) return false
  if (lengths > 0 && length === -1) return false
  if (encodings > 0 && encoding !== 'chunked') return false
  // An interim response and 204 have no body by definition; a length in them is not forwarded.
  if (lengths > 0 && head.status >= 200 && head.status !== 204) head.contentLength = length
  head.body = bodyOf(head.status, requestMethod, lengths > 0 ? length : encodings > 0 ? chunked : untilClose)
  return true
}

function bodyOf(status: number, requestMethod: string, declared: ResponseBody): ResponseBody {
  if (requestMethod === 'HEAD' || status < 200 || status === 204 || status === 304) return 0
  return declared
}

function readConnection(head: ResponseHead, options: string[]): void {
  if (options.includes('close')) head.keepAlive = false
  else if (options.includes('keep-alive')) head.keepAlive = true
  const others = options.filter((option) => option !== 'close' && option !== 'keep-alive' && option !== 'upgrade')
  if (others.length > 0) head.forwardedLines = withoutNamed(head.forwardedLines, others)
}
