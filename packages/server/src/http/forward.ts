import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { AnyRoute, ErrorBody } from '@berth/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type CloudProxy, checkRole, requestFromCloud } from './cloud-proxy.ts'
import { readAnswer, responseHeaders } from './forwarded-answer.ts'
import type { Caller } from './handler.ts'
import type { OpenStreams } from './open-streams.ts'
import { readRest } from './read-rest.ts'
import { frame } from './sse.ts'

export interface ForwardDeps {
  cloud: CloudProxy
  streams: OpenStreams
  /** Records a stream token that the cloud issued, so that it also works here. */
  noteStreamToken(token: string, path: string, caller: Caller): Promise<void>
}

interface Forwarding {
  /** The body, if it was already read. */
  readBody?: string
  /** Writes the audit log entry. */
  record(): Promise<void>
}

/** Forwards a request and passes the cloud's response back unchanged. */
export async function forward(
  row: AnyRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ForwardDeps,
  { readBody, record }: Forwarding,
): Promise<FastifyReply> {
  const caller = request.state.caller as Caller
  checkRole(row, caller)
  const link = await deps.cloud.linkOf(caller.organizationId)
  // The cloud may respond before it has received all of an upload.
  reply.raw.once('finish', () => readRest(request.raw))
  const requestedAt = performance.now()
  const answer = await requestFromCloud(row, request, reply, deps.cloud, readBody)
  if (row.method !== 'GET' && answer.status < 400) await record()
  const body = await readAnswer(row, request.method, answer, requestedAt)
  reply.status(answer.status).headers(responseHeaders(answer, body))
  if ('events' in body) {
    const isSameLink = async () => (await deps.cloud.linkOf(caller.organizationId)) === link
    reply.send(pipeWithAccessChecks(row, request, body.events, deps.streams, isSameLink))
    // Flush, so that the client receives the first event at once, not when a buffer is full.
    reply.raw.flushHeaders()
    return reply
  }
  if ('text' in body) {
    if (row.mints && answer.status < 300) await noteToken(row.mints, body.text, caller, deps)
    // The text is already JSON: do not serialize it again.
    return reply.serializer((json) => json as string).send(body.text)
  }
  return reply.send('stream' in body ? body.stream : undefined)
}

async function noteToken(field: NonNullable<AnyRoute['mints']>, text: string, caller: Caller, deps: ForwardDeps): Promise<void> {
  const { data } = JSON.parse(text) as { data?: Record<string, unknown> | null }
  const [token, path] = [data?.token, data?.[field]]
  if (typeof token === 'string' && typeof path === 'string' && path.length < 300) await deps.noteStreamToken(token, path, caller)
}

/** The cloud sends a heartbeat every 15 s. */
const maxSilenceMs = 45_000

/**
 * Relays the events and checks the access repeatedly, as for every stream. A client that loses access gets a `closed` event and
 * is disconnected.
 */
function pipeWithAccessChecks(
  row: AnyRoute,
  request: FastifyRequest,
  body: Readable,
  streams: OpenStreams,
  isSameLink: () => Promise<boolean>,
): PassThrough {
  const out = new PassThrough()
  const end = (reason: ErrorBody) => {
    body.unpipe(out)
    body.destroy()
    if (!out.writableEnded) out.end(frame('closed', reason))
  }
  const removeFromChecks = streams.add({
    row,
    params: request.params as Record<string, string>,
    caller: request.state.caller as Caller,
    end,
    cloud: { isSameLink },
  })
  const silenceTimer = setTimeout(() => body.destroy(), maxSilenceMs)
  body.on('data', () => silenceTimer.refresh())
  out.once('close', () => {
    clearTimeout(silenceTimer)
    removeFromChecks()
  })
  // If the cloud disconnects, the stream ends, and the client reconnects with its last event id.
  pipeline(body, out).catch(() => out.end())
  return out
}
