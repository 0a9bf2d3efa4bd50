import { headerValue, type RequestHead } from '../message/request-head.ts'
import type { PausedTarget } from '../protocol/edge-table.ts'

/** A message page of the edge itself, in text that fits any project. */
export interface Notice {
  status: number
  title: string
  text: string
  code: string
  retryAfterSeconds?: number
}

const temporarilyUnavailable = { status: 503, title: 'Temporarily unavailable', retryAfterSeconds: 10 }

export const notices = {
  unknownHost: { status: 404, title: 'Site not found', text: 'No project is served at this address.', code: 'unknown_host' },
  disabled: { status: 503, title: 'Project disabled', text: 'The owner has disabled this project.', code: 'project_disabled' },
  paused: {
    restore: { ...temporarilyUnavailable, text: 'This project is being restored from a backup.', code: 'project_restoring' },
    move: { ...temporarilyUnavailable, text: 'This project is being moved.', code: 'project_moving' },
    start: { ...temporarilyUnavailable, text: 'This project is restarting.', code: 'project_starting' },
  },
  failed: {
    status: 502,
    title: 'Not running',
    text: 'The last deployment of this project did not start.',
    code: 'project_failed',
  },
  unreachable: {
    status: 502,
    title: 'No answer',
    text: 'The project did not respond.',
    code: 'upstream_unreachable',
    retryAfterSeconds: 5,
  },
  slow: { status: 504, title: 'Gateway timeout', text: 'The project took too long to respond.', code: 'upstream_timeout' },
  notWoken: {
    status: 503,
    title: 'Still waking',
    text: 'The project is starting. Try again in a moment.',
    code: 'waking',
    retryAfterSeconds: 5,
  },
  certificateMissing: {
    status: 503,
    title: 'No certificate yet',
    text: 'The dashboard is served over https only, and its certificate is not issued yet. Try again in a minute.',
    code: 'no_certificate',
    retryAfterSeconds: 10,
  },
  tooManyQueued: {
    status: 503,
    title: 'Still waking',
    text: 'Too many requests are waiting for this project. Try again later.',
    code: 'waking',
    retryAfterSeconds: 5,
  },
  overloaded: {
    status: 503,
    title: 'Too many requests',
    text: 'This project is handling too many requests. Try again later.',
    code: 'too_many_requests_under_way',
    retryAfterSeconds: 5,
  },
  forbidden: { status: 403, title: 'Forbidden', text: 'A rule of this project blocked the request.', code: 'forbidden_by_rule' },
  notFound: { status: 404, title: 'Not found', text: 'This page does not exist.', code: 'not_found' },
  methodNotAllowed: {
    status: 405,
    title: 'Method not allowed',
    text: 'Only GET and HEAD are served here.',
    code: 'method_not_allowed',
  },
  unreadable: { status: 500, title: 'Internal error', text: 'The file could not be read.', code: 'unreadable' },
} satisfies Record<string, Notice | Record<PausedTarget['reason'], Notice>>

export const limitedNotice = (status: number, retryAfterSeconds: number): Notice => ({
  status,
  title: 'Too many requests',
  text: 'The rate limit of this project was exceeded. Try again later.',
  code: 'rate_limited',
  retryAfterSeconds,
})

export const faultNotice = (status: number, reason: string): Notice => ({
  status,
  title: reasons[status] ?? 'Bad request',
  text: `The request was refused: ${reason}.`,
  code: 'bad_request',
})

/** Header lines and body. The page repeats nothing of the request and loads no resources. */
export function renderNotice(notice: Notice, head: RequestHead | undefined): { headers: string; body: string } {
  const json = head !== undefined && prefersJson(head)
  const body = json
    ? `${JSON.stringify({ error: notice.text, code: notice.code })}\n`
    : `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${notice.title}</title><style>body{font:16px/1.5 system-ui,sans-serif;margin:20vh auto;max-width:30rem;padding:0 1rem;color:#222;background:#fff}h1{font-size:1.4rem}@media(prefers-color-scheme:dark){body{color:#ddd;background:#111}}</style><h1>${notice.title}</h1><p>${notice.text}</p>\n`
  const headers =
    `content-type: ${json ? 'application/json' : 'text/html'}; charset=utf-8\r\ncache-control: no-store\r\n` +
    (notice.retryAfterSeconds ? `retry-after: ${notice.retryAfterSeconds}\r\n` : '') +
    (notice.status === 405 ? 'allow: GET, HEAD\r\n' : '')
  return { headers, body }
}

function prefersJson(head: RequestHead): boolean {
  const accept = headerValue(head, 'accept')?.toLowerCase() ?? ''
  return /[/+]json\b/.test(accept) && !accept.includes('text/html')
}

export const reasons: Record<number, string> = {
  200: 'OK',
  204: 'No Content',
  206: 'Partial Content',
  304: 'Not Modified',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  416: 'Range Not Satisfiable',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
}
