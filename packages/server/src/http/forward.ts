import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { AnyRoute, ErrorBody } from '@berth/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { askElsewhere, type CloudProxy, checkRole } from './cloud-proxy.ts'
import { passedBack, readAnswer } from './forwarded-answer.ts'
import type { Caller } from './handler.ts'
import type { OpenStreams } from './open-streams.ts'
import { readRest } from './read-rest.ts'
import { frame } from './sse.ts'

export interface ForwardDeps {
  elsewhere: CloudProxy
  streams: OpenStreams
  /** A token that the cloud has made for a stream of its own opens that stream here too. */
  noteStreamToken(token: string, path: string, caller: Caller): Promise<void>
}

interface Forwarding {
  /** The body, where it was read here. */
  readBody?: string
  /** Puts the write into the audit log. */
  record(): Promise<void>
}

/** Answers with what the cloud says: its status, its words, byte for byte. */
export async function forward(
  row: AnyRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ForwardDeps,
  { readBody, record }: Forwarding,
): Promise<FastifyReply> {
  const caller = request.state.caller as Caller
  checkRole(row, caller)
  const link = await deps.elsewhere.linkOf(caller.organizationId)
  // The cloud may answer before it has all of an upload.
  reply.raw.once('finish', () => readRest(request.raw))
  const askedAt = performance.now()
  const answer = await askElsewhere(row, request, reply, deps.elsewhere, readBody)
  if (row.method !== 'GET' && answer.status < 400) await record()
  const body = await readAnswer(row, request.method, answer, askedAt)
  reply.status(answer.status).headers(passedBack(answer, body))
  if ('events' in body) {
    const isSameLink = async () => (await deps.elsewhere.linkOf(caller.organizationId)) === link
    reply.send(judged(row, request, body.events, deps.streams, isSameLink))
    // Whoever reads sees the first event when it comes, not when a buffer is full.
    reply.raw.flushHeaders()
    return reply
  }
  if ('whole' in body) {
    if (row.mints && answer.status < 300) await noteToken(row.mints, body.whole, caller, deps)
    // As it is: what was serialised there is not serialised again.
    return reply.serializer((text) => text as string).send(body.whole)
  }
  return reply.send('rest' in body ? body.rest : undefined)
}

async function noteToken(field: NonNullable<AnyRoute['mints']>, text: string, caller: Caller, deps: ForwardDeps): Promise<void> {
  const { data } = JSON.parse(text) as { data?: Record<string, unknown> | null }
  const [token, path] = [data?.token, data?.[field]]
  if (typeof token === 'string' && typeof path === 'string' && path.length < 300) await deps.noteStreamToken(token, path, caller)
}

/** The cloud says something every 15 s. */
const longestSilenceMs = 45_000

/** Like every stream it is judged again and again; who may no longer read is told so and cut off. */
function judged(
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
  const forget = streams.add({
    row,
    params: request.params as Record<string, string>,
    caller: request.state.caller as Caller,
    end,
    elsewhere: { isSameLink },
  })
  const silent = setTimeout(() => body.destroy(), longestSilenceMs)
  body.on('data', () => silent.refresh())
  out.once('close', () => {
    clearTimeout(silent)
    forget()
  })
  // A cloud that goes away in the middle ends the stream; the reader comes back with its last event id.
  pipeline(body, out).catch(() => out.end())
  return out
}
