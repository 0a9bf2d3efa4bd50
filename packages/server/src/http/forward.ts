import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { AnyRoute, ErrorBody } from '@berth/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { askElsewhere, checkRole, type Elsewhere, type ForwardedAnswer, passedBack } from './elsewhere.ts'
import type { Caller } from './handler.ts'
import type { OpenStreams } from './open-streams.ts'
import { frame } from './sse.ts'

export interface ForwardDeps {
  elsewhere: Elsewhere
  streams: OpenStreams
}

/** Answers with what the cloud says: status, headers and bytes as they come. Resolves once the last byte is out. */
export async function forward(
  row: AnyRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ForwardDeps,
  { readBody, record }: { readBody?: string; record(): Promise<void> },
): Promise<true> {
  const caller = request.state.caller as Caller
  checkRole(row, caller)
  const answer = await askElsewhere(request, reply, caller, deps.elsewhere, readBody)
  if (row.method !== 'GET' && answer.status < 400) await record()
  const isStream = row.stream && answer.status === 200
  const body = isStream ? judged(row, request, caller, answer, deps.streams) : answer.body
  // Whoever reads sees the first event when it comes, not when a buffer is full.
  reply.status(answer.status).headers(passedBack(answer.headers)).send(body)
  if (isStream) reply.raw.flushHeaders()
  await reply
  return true
}

/** Like every stream it is judged again and again; who may no longer read is told so and cut off. */
function judged(
  row: AnyRoute,
  request: FastifyRequest,
  caller: Caller,
  { body }: ForwardedAnswer,
  streams: OpenStreams,
): PassThrough {
  const out = new PassThrough()
  const end = (reason: ErrorBody) => {
    body.unpipe(out)
    body.destroy()
    if (!out.writableEnded) out.end(frame('closed', reason))
  }
  const forget = streams.add({ row, params: request.params as Record<string, string>, caller, end, isElsewhere: true })
  out.once('close', forget)
  // A cloud that goes away in the middle ends the stream; the reader comes back with its last event id.
  pipeline(body, out).catch(() => out.end())
  return out
}
