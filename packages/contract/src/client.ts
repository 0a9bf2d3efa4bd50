import type { ErrorBody, ErrorCode, FieldProblem } from './errors.ts'
import { readEvents } from './event-stream.ts'
import type { AnyRoute, BodyOf, EventsOf, ParamsOf, QueryOf, ReplyOf } from './route.ts'

/** Creates a typed API client for browsers and Node. Each call takes a route of the contract and its input. */
export function createClient(options: ClientOptions) {
  const send = createSender(options)

  async function call<T extends AnyRoute>(route: T, ...[input]: Input<CallInput<T>>): Promise<Warned<ReplyOf<T>>> {
    const response = await send(route, input ?? {}, 'application/json')
    if (!response.ok) throw await errorOf(response)
    if (response.status === 204) return undefined as Warned<ReplyOf<T>>
    const reply = await readReply(response)
    // A response without `data` has its own warnings field, which its caller shows.
    const { data, warnings } = (reply ?? {}) as { data?: unknown; warnings?: unknown }
    if (route.method !== 'GET' && data !== undefined) warn(warnings)
    return reply as Warned<ReplyOf<T>>
  }

  function warn(warnings: unknown): void {
    if (Array.isArray(warnings) && warnings.length > 0) options.onWarnings?.(warnings.map(String))
  }

  /** Calls a route that responds with bytes, and returns them as a stream. */
  async function bytes<T extends AnyRoute>(route: T, ...[input]: Input<CallInput<T>>): Promise<ReadableStream<Uint8Array>> {
    const response = await send(route, input ?? {}, 'application/octet-stream')
    if (!response.ok) throw await errorOf(response)
    if (!response.body) throw unreadable(response)
    return response.body
  }

  /** Yields the events of one connection; reconnecting with `lastEventId` is up to the caller. */
  async function* stream<T extends AnyRoute>(
    route: T,
    ...[input]: Input<StreamInput<T>>
  ): AsyncGenerator<StreamEventOf<T>, void> {
    const response = await send(route, input ?? {}, 'text/event-stream')
    if (!response.ok) throw await errorOf(response)
    if (!response.body || !contentType(response).startsWith('text/event-stream')) throw unreadable(response)
    for await (const { id, event, data } of readEvents(response.body))
      if (event === 'warnings') warn(parseJson(data, response))
      else yield { id, event, data: parseJson(data, response) } as StreamEventOf<T>
  }

  return { call, stream, bytes }
}

export type Client = ReturnType<typeof createClient>

export interface ClientOptions {
  /** Base URL of the instance, without `/api`; empty in a page that the instance itself serves. */
  baseUrl: string
  token?: string
  organizationId?: string
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  headers?: Record<string, string>
  /** Called with the `warnings` of a response, such as unknown fields that the server ignored. */
  onWarnings?: (warnings: readonly string[]) => void
}

/** A reply with the warnings about its request, if there are any. */
export type Warned<R> = R extends object ? R & { warnings?: readonly string[] } : R

type RequiredUnlessEmpty<K extends string, V> = Record<never, never> extends V ? { [P in K]?: V } : { [P in K]: V }

type Common<T extends AnyRoute> = RequiredUnlessEmpty<'params', ParamsOf<T>> &
  RequiredUnlessEmpty<'query', QueryOf<T>> & { abort?: AbortSignal }
type WithBody<T extends AnyRoute> = [BodyOf<T>] extends [undefined]
  ? { body?: undefined }
  : RequiredUnlessEmpty<'body', BodyOf<T>>
export type CallInput<T extends AnyRoute> = Common<T> & WithBody<T> & { upload?: BodyInit }
export type StreamInput<T extends AnyRoute> = Common<T> & WithBody<T> & { lastEventId?: string }
/** Input may be omitted if it has no required fields. */
type Input<I> = Record<never, never> extends I ? [input?: I] : [input: I]

export type StreamEventOf<T extends AnyRoute> = {
  [K in keyof EventsOf<T> & string]: { id: string | null; event: K; data: EventsOf<T>[K] }
}[keyof EventsOf<T> & string]

/** An error response of the API. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: ErrorCode | 'unreadable_reply'
  readonly field: string | undefined
  readonly details: readonly FieldProblem[]
  /** The missing permission tag, for `forbidden`. */
  readonly permission: string | undefined
  readonly requestId: string | undefined
  /** When to retry, for `rate_limited`. */
  readonly retryAfterSeconds: number | undefined

  constructor(response: Response, body: Partial<Omit<ErrorBody, 'code'>> & { code: ApiError['code'] }) {
    super(body.error ?? `The server answered ${response.status} ${response.statusText}`.trim())
    this.status = response.status
    this.code = body.code
    this.field = body.field
    this.details = body.details ?? []
    this.permission = body.permission
    this.requestId = response.headers.get('x-request-id') ?? undefined
    const seconds = Number.parseInt(response.headers.get('retry-after') ?? '', 10)
    this.retryAfterSeconds = Number.isNaN(seconds) ? undefined : seconds
  }
}

/** The route's path below `/api`, with its params and query filled in. */
export function pathOf(route: AnyRoute, params: Record<string, string> = {}, query: Record<string, unknown> = {}): string {
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => segment(route, name, params[name]))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null) search.append(name, String(one))
  return search.size > 0 ? `${path}?${search}` : path
}

/** URL parsers resolve `.` and `..` even when they are percent-encoded, so such a value would reach another route. */
function segment(route: AnyRoute, name: string, value: string | undefined): string {
  if (!value || value === '.' || value === '..') throw new TypeError(`${route.at}: "${value ?? ''}" cannot be used as ${name}`)
  return encodeURIComponent(value)
}

interface AnyInput {
  params?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
  upload?: BodyInit
  lastEventId?: string
  abort?: AbortSignal
}

function createSender({
  baseUrl,
  token,
  organizationId,
  fetch = (url, init) => globalThis.fetch(url, init),
  headers,
}: ClientOptions) {
  const root = `${baseUrl.replace(/\/+$/, '')}/api`
  const commonHeaders = {
    ...headers,
    ...(token ? { authorization: `Bearer ${token}` } : {}),
    ...(organizationId ? { 'x-organization-id': organizationId } : {}),
  }
  return (route: AnyRoute, input: AnyInput, accept: string): Promise<Response> => {
    const init: RequestInit & { duplex?: 'half' } = {
      method: route.method,
      headers: { ...commonHeaders, accept, ...headersFor(route, input) },
    }
    if (input.abort) init.signal = input.abort
    if (input.upload !== undefined) {
      init.body = input.upload
      init.duplex = 'half' // required by fetch if the body is a stream
    } else if (input.body !== undefined) init.body = JSON.stringify(input.body)
    return fetch(root + pathOf(route, input.params, input.query), init)
  }
}

function headersFor(route: AnyRoute, input: AnyInput): Record<string, string> {
  const type = input.upload !== undefined ? route.upload?.contentType : input.body !== undefined ? 'application/json' : undefined
  return { ...(type ? { 'content-type': type } : {}), ...(input.lastEventId ? { 'last-event-id': input.lastEventId } : {}) }
}

const contentType = (response: Response) => response.headers.get('content-type') ?? ''

const unreadable = (response: Response) => new ApiError(response, { code: 'unreadable_reply' })

function parseJson(text: string, response: Response): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw unreadable(response)
  }
}

const readReply = async (response: Response) => parseJson(await response.text(), response)

/** The body may not be the API's: a proxy between client and server may have responded with its own page. */
export async function errorOf(response: Response): Promise<ApiError> {
  const body = await readReply(response).catch(() => undefined)
  if (typeof body !== 'object' || body === null || typeof (body as ErrorBody).code !== 'string') return unreadable(response)
  return new ApiError(response, body as ErrorBody)
}
