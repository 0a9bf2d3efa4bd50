import type { IncomingMessage } from 'node:http'
import { type AnyRoute, limits, type Rows } from '@berth/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { bareAddress, clientOf, plainAddress } from '../platform/address-set.ts'
import { type Awaitable, after } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'
import { checkAddress, checkBody } from './clean-text.ts'
import { type Elsewhere, isElsewhere, mayBeElsewhere } from './elsewhere.ts'
import { forward } from './forward.ts'
import { checkTag, type Gatekeeper, loadObject } from './guard.ts'
import type { Caller, Handler, Loaders, RequestContext } from './handler.ts'
import { mayChangeAccess, type OpenStreams } from './open-streams.ts'
import type { RateLimiter } from './rate-limit.ts'
import { redact } from './redact.ts'
import { ContextOfRequest } from './request-context.ts'
import { openStream } from './sse.ts'

/** A write that happened, for the audit log. */
export interface AuditEvent {
  action: string
  organizationId: string | null
  userId: string | null
  tokenId: string | null
  ip: string
  requestId: string
  objectKind: string | null
  objectId: string | null
  changes: unknown
}

export interface MountDeps {
  mode: 'self-hosted' | 'cloud'
  gatekeeper: Gatekeeper
  loaders: Loaders
  limiter: RateLimiter
  recordAudit(event: AuditEvent): Promise<void>
  /** Spends a single-use stream token; the caller who minted it, for this very path. */
  spendStreamToken(token: string, path: string): Promise<Caller | null>
  stopping: AbortSignal
  /** Judges every open stream again and again. */
  streams: OpenStreams
  /** Where projects are that are not here; without it everything is. */
  elsewhere?: Elsewhere
}

type AnyHandler = Handler<AnyRoute>

interface RequestState {
  caller: Caller | null
  object?: object
  level?: RequestContext['level']
  rawBody?: Buffer
  /** The body's JSON holds an escape that no text should. */
  mayBeUnclean?: true
  audit: Partial<AuditEvent>
}

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState
  }
  interface FastifyContextConfig {
    row?: AnyRoute
  }
}

/** Mounts each row with its handler; a row whose module is not built yet answers 501 once the guard let it through. */
export function mountRows(app: FastifyInstance, rows: Rows, handlers: Record<string, unknown>, deps: MountDeps): void {
  for (const [name, row] of Object.entries(rows)) {
    const handle = (handlers[name] as AnyHandler | undefined) ?? notBuiltYet
    const isAbsent = row.selfHostedOnly && deps.mode === 'cloud'
    for (const at of [row.at, ...(row.alsoAt ?? [])]) app.route(isAbsent ? absent(at) : optionsOf(at, row, handle, deps))
  }
}

const notBuiltYet: AnyHandler = () => fail('not_built_yet')

/** On the cloud service `/projects/local` would else be taken for the project `local`. */
function absent(at: string): RouteOptions {
  const [method, path] = at.split(' ') as [string, string]
  return { method: method as 'GET', url: `/api${path}`, handler: noSuchRoute, onRequest: noSuchRoute }
}

const noSuchRoute = async (): Promise<never> => fail('not_found', { words: 'There is no such route' })

function optionsOf(at: string, row: AnyRoute, handle: AnyHandler, deps: MountDeps): RouteOptions {
  const [method, path] = at.split(' ') as [string, string]
  return {
    method: method as 'GET',
    url: `/api${path}`,
    config: { row },
    bodyLimit: row.bodyBytes ?? limits.bodyBytes,
    schema: {
      ...(row.query ? { querystring: row.query } : {}),
      ...(row.body ? { body: row.body } : {}),
      ...(row.returns ? { response: { '2xx': row.returns } } : {}),
    },
    onRequest: (request, reply, done) => after(admit(row, request, deps), () => passOn(row, request, reply, deps)) ?? done(),
    ...(row.method === 'GET' ? {} : { preValidation: (request, _reply, done) => done(void prepareBody(row, request)) }),
    handler: (request, reply) => run(row, handle, request, reply, deps),
  }
}

/** Rate limit, credential, tag: in that order, before a byte of the body is read; then what the head alone can get wrong. */
function admit(row: AnyRoute, request: FastifyRequest, deps: MountDeps): Awaitable<void> {
  const state: RequestState = { caller: null, audit: {} }
  request.state = state
  if (row.public) {
    deps.limiter.take(row.rateLimit ?? 'public', clientOf(request.ip))
    if (!row.knowsCaller) return checkHead(row, request)
    return after(deps.gatekeeper.authenticate(request), (caller) => {
      state.caller = caller
      return checkHead(row, request)
    })
  }
  return after(callerOf(row, request, deps), (caller) => {
    // Guessing credentials is counted like any other public call.
    if (caller) deps.limiter.take('signedIn', caller.userId)
    else deps.limiter.take('public', clientOf(request.ip))
    state.caller = caller ?? fail('unauthorized')
    return after(checkTag(row, state.caller, deps.gatekeeper), () => checkHead(row, request))
  })
}

/** What the path names and is not here is asked of the cloud before a byte of the body is read. */
function passOn(row: AnyRoute, request: FastifyRequest, reply: FastifyReply, deps: MountDeps): Awaitable<void> {
  if (row.inBody || !mayBeElsewhere(row, request, deps)) return
  return after(isElsewhere(row, request, request.state.caller as Caller, deps), async (elsewhere) => {
    if (elsewhere) await forwardTo(row, request, reply, deps)
  })
}

const forwardTo = (row: AnyRoute, request: FastifyRequest, reply: FastifyReply, deps: MountDeps, readBody?: string) =>
  forward(row, request, reply, deps as MountDeps & { elsewhere: Elsewhere }, {
    ...(readBody === undefined ? {} : { readBody }),
    record: () => deps.recordAudit({ ...auditOf(row, request), changes: { askedIn: 'cloud' } }),
  })

function callerOf(row: AnyRoute, request: FastifyRequest, deps: MountDeps): Awaitable<Caller | null> {
  const token = row.streamToken ? (request.query as { token?: unknown }).token : undefined
  if (typeof token === 'string') return deps.spendStreamToken(token, request.url.split('?')[0] as string)
  return deps.gatekeeper.authenticate(request)
}

function checkHead(row: AnyRoute, request: FastifyRequest): void {
  checkContentType(row, request)
  checkAddress(request)
}

function checkContentType(row: AnyRoute, request: FastifyRequest): void {
  const hasBody = request.headers['content-length']
    ? request.headers['content-length'] !== '0'
    : !!request.headers['transfer-encoding']
  if (!hasBody && !row.upload) return
  const given = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase()
  const wanted = row.upload?.contentType ?? 'application/json'
  if (given !== wanted) fail('unsupported_media_type', { words: `Send the body as ${wanted}` })
}

function prepareBody(row: AnyRoute, request: FastifyRequest): void {
  if (request.state.mayBeUnclean) checkBody(request.body)
  if (row.body && request.body === undefined) request.body = {}
}

async function run(
  row: AnyRoute,
  handle: AnyHandler,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: MountDeps,
): Promise<unknown> {
  const { state } = request
  if (row.inBody && mayBeElsewhere(row, request, deps)) {
    const readBody = JSON.stringify(request.body)
    if (await isElsewhere(row, request, state.caller as Caller, deps)) return forwardTo(row, request, reply, deps, readBody)
  }
  if (row.on || row.operator) {
    const { object, level } = await loadObject(row, request, state.caller as Caller, deps)
    if (object) state.object = object
    state.level = level
  }
  const context = new ContextOfRequest(row, request, reply)
  const input = {
    params: request.params,
    query: request.query,
    body: request.body,
    // A handler that stops reading must not cut the connection: its answer still has to go out.
    upload: row.upload && request.raw.iterator({ destroyOnReturn: false }),
    rawBody: state.rawBody,
  } as never
  if (row.upload) reply.raw.once('finish', () => readRest(request.raw))
  if (row.stream) return runStream(row, handle, input, context, request, reply, deps)
  reply.status(row.status ?? 200)
  if (row.bytes) reply.type('application/octet-stream')
  const answer = await handle(input, context as never)
  if (mayChangeAccess(row)) deps.streams.accessChanged(state.caller?.organizationId ?? null)
  if (row.method !== 'GET') await deps.recordAudit(auditOf(row, request))
  if (reply.sent) return reply
  return row.returns || row.bytes ? answer : reply.send()
}

/** A failure before the first event is an ordinary error answer; one after it ends the stream. */
async function runStream(
  row: AnyRoute,
  handle: AnyHandler,
  input: never,
  context: RequestContext,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: MountDeps,
): Promise<FastifyReply> {
  if (handle === notBuiltYet) fail('not_built_yet')
  const stream = openStream(request, reply, deps.stopping)
  const { caller } = request.state
  const forget = caller
    ? deps.streams.add({ row, params: request.params as Record<string, string>, caller, end: stream.close })
    : undefined
  try {
    await handle(input, Object.assign(context, { stream }) as never)
  } catch (error) {
    if (!stream.abort.aborted) request.log.error({ err: error, reqId: request.id }, 'stream failed')
  } finally {
    forget?.()
    stream.end()
  }
  return reply
}

const restTimeoutMs = 30_000

/** What an early answer left of an upload is read and dropped, or the connection would never be free again; not for ever. */
function readRest(body: IncomingMessage): void {
  if (body.complete || body.destroyed) return
  const timeout = setTimeout(() => body.destroy(), restTimeoutMs)
  body.once('close', () => clearTimeout(timeout)).resume()
}

function auditOf(row: AnyRoute, request: FastifyRequest): AuditEvent {
  const { state } = request
  const { caller, audit } = state
  const params = request.params as Record<string, string>
  return {
    action: row.at,
    organizationId: caller?.organizationId ?? null,
    userId: caller?.userId ?? null,
    tokenId: caller?.tokenId ?? null,
    ip: plainAddress(bareAddress(request.ip)),
    requestId: request.id,
    objectKind: row.on ?? null,
    objectId: Object.values(params).at(-1) ?? (state.object as { id?: string } | undefined)?.id ?? null,
    changes: row.body ? redact(row.body, request.body) : {},
    ...audit,
  }
}
