import type { AnyRoute } from '@berth/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Awaitable, thenSync } from '../platform/awaitable.ts'
import { recordedBy, WriteRecord } from '../platform/db/write-record.ts'
import { fail } from '../platform/failure.ts'
import { auditEventOf } from './audit-event.ts'
import { uploadBytes } from './expect-continue.ts'
import { loadObject } from './guard.ts'
import type { Caller, Handler, RequestContext } from './handler.ts'
import type { MountDeps } from './mount-deps.ts'
import { isAboutAccount, mayChangeAccess } from './open-streams.ts'
import { readRest } from './read-rest.ts'
import { clientDisconnected } from './read-slots.ts'
import { ContextOfRequest } from './request-context.ts'
import { type OpenStream, openStream } from './sse.ts'
import { withWarnings } from './warnings.ts'

export type AnyHandler = Handler<AnyRoute>

const noBytes = Buffer.alloc(0)

export const notBuiltYet: AnyHandler = () => fail('not_built_yet')

/** Loads the route's object, calls its handler and sends the response. A read from cached rows completes without a promise. */
export function run(
  row: AnyRoute,
  handle: AnyHandler,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: MountDeps,
): Awaitable<unknown> {
  const { caller } = request.state
  // A token that the cloud issued must not open local objects.
  if (caller?.onlyInCloud) fail('unauthorized')
  if (row.method !== 'GET' || row.stream || row.bytes || !caller) return runNow(row, handle, request, reply, deps)
  const { socket } = request.raw
  const answered = deps.reads.run(
    caller.userId,
    () => socket.destroyed,
    () => runNow(row, handle, request, reply, deps),
  )
  return thenSync(answered, (body) => {
    if (body !== clientDisconnected && !socket.destroyed) return body
    // The response is not serialized for a disconnected client.
    reply.hijack()
    return undefined
  })
}

function runNow(
  row: AnyRoute,
  handle: AnyHandler,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: MountDeps,
): Awaitable<unknown> {
  const { caller } = request.state
  if (!row.on && !row.operator) return thenSync(deps.refreshCopies?.(), () => callHandler(row, handle, request, reply, deps))
  const loaded = thenSync(deps.refreshCopies?.(), () => loadObject(row, request, caller as Caller, deps))
  return thenSync(loaded, ({ object, level }) => {
    if (object) request.state.object = object
    request.state.level = level
    return callHandler(row, handle, request, reply, deps)
  })
}

function callHandler(
  row: AnyRoute,
  handle: AnyHandler,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: MountDeps,
): Awaitable<unknown> {
  const context = new ContextOfRequest(row, request, reply)
  const input = {
    params: request.params,
    query: request.query,
    body: request.body,
    upload: row.upload && uploadBytes(request.raw, reply.raw),
    rawBody: request.state.rawBody ?? noBytes,
  } as never
  if (row.upload) reply.raw.once('finish', () => readRest(request.raw))
  const work = () => (row.stream ? runStream(row, handle, input, context, request, reply, deps) : handle(input, context as never))
  if (!row.stream) reply.status(row.status ?? 200)
  if (row.method === 'GET') return row.stream ? work() : thenSync(work(), (body) => send(row, body, request, reply))
  return runWrite(row, work, request, deps).then((body) => (row.stream ? body : send(row, body, request, reply)))
}

/** Runs a write. Its audit log entry commits with its first transaction, before the response is sent. */
async function runWrite(row: AnyRoute, work: () => unknown, request: FastifyRequest, deps: MountDeps): Promise<unknown> {
  const { auditLog, streams } = deps
  const record = new WriteRecord({
    append: (transaction) => auditLog.append(transaction, auditEventOf(row, request)),
    appendAlone: () => auditLog.record(auditEventOf(row, request)),
  })
  request.state.record = record
  try {
    const body = await recordedBy(record, work)
    if (!row.stream && mayChangeAccess(row))
      streams.publishAccessChange(isAboutAccount(row) ? null : (request.state.caller?.organizationId ?? null))
    if (!row.stream) await record.appendNow()
    return body
  } finally {
    record.close()
  }
}

/** Returns the body for Fastify to send; undefined when a redirect or a page was already sent. */
function send(row: AnyRoute, body: unknown, request: FastifyRequest, reply: FastifyReply): unknown {
  if (reply.sent) return undefined
  if (row.bytes) reply.type('application/octet-stream')
  if (row.bytes) return body
  if (row.returns) return withWarnings(body, request.state.warnings)
  reply.send()
  return undefined
}

/** Runs a stream. A failure before the first event is an ordinary error response; a later one ends the stream. */
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
  let open: Opened | undefined
  const begin = async () => {
    await request.state.record?.appendNow()
    open = openAuthorized(row, request, reply, deps)
    if (request.state.warnings) await open.stream.send('warnings', request.state.warnings)
    return open.stream
  }
  try {
    const streamAccess = row.method === 'GET' ? { stream: await begin() } : { begin }
    await handle(input, Object.assign(context, streamAccess) as never)
  } catch (error) {
    if (!open) throw error
    if (!open.stream.abort.aborted) request.log.error({ err: error, reqId: request.id }, 'http: stream failed')
  } finally {
    open?.removeFromChecks?.()
    open?.stream.end()
  }
  return reply
}

interface Opened {
  stream: OpenStream
  removeFromChecks: (() => void) | undefined
}

/** Opens a stream whose authorization is checked repeatedly from its first byte. */
function openAuthorized(row: AnyRoute, request: FastifyRequest, reply: FastifyReply, deps: MountDeps): Opened {
  const stream = openStream(request, reply, deps.stopping)
  const { caller } = request.state
  const params = request.params as Record<string, string>
  return { stream, removeFromChecks: caller ? deps.streams.add({ row, params, caller, end: stream.close }) : undefined }
}
