import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

export interface Call {
  method: string
  /** Path without the query. */
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: Buffer
  json(): Record<string, unknown>
  /** Values of the pattern's names. */
  params: Record<string, string>
  /** Token of `Authorization: Bearer …` or `token …`. */
  token: string | null
}

export interface Answer {
  status?: number
  json?: unknown
  text?: string
  headers?: Record<string, string>
}

export type Route = (call: Call) => Promise<Answer | undefined> | Answer | undefined

/** Returns a matcher of calls for a pattern such as `GET /repos/:owner/:repo/contents/:path*`; `*` matches the rest of the path. */
export function matching(pattern: string) {
  const [method, path] = pattern.split(' ') as [string, string]
  const names: string[] = []
  const form = path.replace(/:(\w+)(\*?)/g, (_, name: string, rest: string) => {
    names.push(name)
    return rest ? '(.*)' : '([^/]+)'
  })
  const regex = new RegExp(`^${form}$`)
  return (call: Pick<Call, 'method' | 'path'>): Record<string, string> | null => {
    const found = call.method === method ? regex.exec(call.path) : null
    return found && Object.fromEntries(names.map((name, at) => [name, decodeURIComponent(found[at + 1] ?? '')]))
  }
}

export async function readCall(request: IncomingMessage): Promise<Call> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const url = new URL(request.url ?? '/', 'http://host')
  const body = Buffer.concat(chunks)
  const token = /^(?:bearer|token) (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null
  return {
    ...{ method: request.method ?? 'GET', path: url.pathname, query: url.searchParams, headers: request.headers, body, token },
    json: () => JSON.parse(body.toString() || '{}') as Record<string, unknown>,
    params: {},
  }
}

/** Sends the response with an ETag, or a 304 if the caller already has the same body. Returns the status that was sent. */
export function reply(call: Call, response: ServerResponse, { status = 200, json, text, headers = {} }: Answer): number {
  const body = json === undefined ? (text ?? '') : JSON.stringify(json)
  const etag = `"${createHash('sha256').update(body).digest('hex').slice(0, 32)}"`
  const isKnown = call.method === 'GET' && status === 200 && call.headers['if-none-match'] === etag
  const type = json === undefined ? 'text/plain' : 'application/json; charset=utf-8'
  const valid = call.method === 'GET' && status === 200 ? { etag } : {}
  response.writeHead(isKnown ? 304 : status, { 'content-type': type, ...valid, ...headers })
  response.end(isKnown || status === 204 ? undefined : body)
  return isKnown ? 304 : status
}

/** Returns one page of the items, with GitHub's `link` header to the next and the last page. */
export function paged<Item>(call: Call, items: readonly Item[], url: string, size = Number(call.query.get('per_page') ?? 30)) {
  const page = Number(call.query.get('page') ?? 1)
  const last = Math.max(Math.ceil(items.length / size), 1)
  const link = (to: number, rel: string) => `<${url}${call.path}?per_page=${size}&page=${to}>; rel="${rel}"`
  const links: string[] = [...(page < last ? [link(page + 1, 'next'), link(last, 'last')] : [])]
  const headers: Record<string, string> = links.length > 0 ? { link: links.join(', ') } : {}
  return { items: items.slice((page - 1) * size, page * size), headers, last }
}
