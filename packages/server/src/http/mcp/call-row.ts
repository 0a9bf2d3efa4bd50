import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorBody } from '@berth/contract'
import type { FastifyInstance, FastifyRequest, InjectOptions } from 'fastify'
import type { RowRequest } from './arguments.ts'
import { collectEvents, type StreamBounds } from './collect-events.ts'
import type { RowAnswer } from './row-answer.ts'

export interface CallOptions extends StreamBounds {
  app: FastifyInstance
  /** The HTTP request that carries the tool call: its token and client address count for the row's route too. */
  http: FastifyRequest
  lastEventId?: string
}

/**
 * Calls the row's route inside this process. The route authenticates, authorizes, validates, limits and records the call as if the
 * client had sent it over HTTP.
 */
export async function callRow(request: RowRequest, options: CallOptions): Promise<RowAnswer> {
  const { app, http, lastEventId } = options
  const { row, path, body } = request
  const injected: InjectOptions = {
    method: row.method,
    url: `/api${path}`,
    headers: {
      ...passedHeaders(http.headers),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(lastEventId ? { 'last-event-id': lastEventId } : {}),
    },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    remoteAddress: http.raw.socket.remoteAddress ?? '127.0.0.1',
  }
  if (!row.stream) {
    const { statusCode, payload } = await app.inject(injected)
    return answerOf(statusCode, payload)
  }
  const response = await app.inject({ ...injected, payloadAsStream: true })
  const isStream = String(response.headers['content-type']).startsWith('text/event-stream')
  if (isStream) return collectEvents(response, options)
  return answerOf(response.statusCode, Buffer.concat(await response.stream().toArray()).toString('utf8'))
}

/** Headers of the credential and of the client's address. Cookies are not passed on: only a token counts. */
const passed = ['authorization', 'x-organization-id', 'host', 'user-agent', 'berth-edge', 'forwarded'] as const

const passedHeaders = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(
      (entry): entry is [string, string] =>
        typeof entry[1] === 'string' && (passed.some((name) => name === entry[0]) || entry[0].startsWith('x-forwarded-')),
    ),
  )

function answerOf(status: number, text: string): RowAnswer {
  if (status < 400) return { status, text }
  try {
    return { status, text, error: JSON.parse(text) as ErrorBody }
  } catch {
    return { status, text, error: {} }
  }
}
