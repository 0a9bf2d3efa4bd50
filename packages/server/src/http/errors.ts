import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { AnyRoute } from '@berth/contract'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BadCursor } from '../platform/db/pages.ts'
import { isDatabaseUnavailable } from '../platform/db/unavailable.ts'
import { isDiskFull } from '../platform/disk-full.ts'
import { Failure } from '../platform/failure.ts'

/** Sends every error in the same format. */
export function handleErrors(app: FastifyInstance): void {
  app.setErrorHandler<FastifyError>((error, request, reply) => sendFailure(asFailure(error), request, reply))
  app.setNotFoundHandler((request, reply) =>
    sendFailure(new Failure('not_found', { message: 'This route does not exist' }), request, reply),
  )
}

/** Handles a URL that the router cannot parse; no route or hook runs for it. */
export function answerUnrouted(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  sendFailure(asFailure(error), request, reply)
}

/** Handles bytes that Node cannot parse as a request: there is no response object, so the response is written to the socket. */
export const answerMalformed =
  (newRequestId: () => string) =>
  (error: Error & { code?: string }, socket: Duplex): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const failure = (failureByParserCode[error.code ?? ''] ?? invalidRequest)()
    const body = JSON.stringify(failure.body())
    const head = [
      `HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status]}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${newRequestId()}`,
      'connection: close',
    ]
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
  }

const failureByParserCode: Record<string, () => Failure> = {
  ERR_HTTP_REQUEST_TIMEOUT: () => new Failure('request_timeout'),
  HPE_HEADER_OVERFLOW: () => new Failure('headers_too_large'),
}
const invalidRequest = () => new Failure('validation_failed', { message: 'Malformed HTTP request' })

/** Rejects expectations other than `Expect: 100-continue`, which is handled in `expect-continue.ts`. */
export function refuseExpectations(app: FastifyInstance, newRequestId: () => string): void {
  app.server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const failure = new Failure('expectation_failed')
    const body = JSON.stringify(failure.body())
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'x-request-id': newRequestId(),
      connection: 'close',
    }
    response.writeHead(failure.status, headers).end(body)
  })
}

function sendFailure(failure: Failure, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const row = (request.routeOptions.config as { row?: AnyRoute } | undefined)?.row
  logFailure(failure, request)
  if (reply.raw.headersSent) {
    reply.raw.destroy()
    return reply
  }
  const visible = row?.conceal && failure.code !== 'rate_limited' ? new Failure('not_found') : failure
  if (visible.options.retryAfterSeconds) reply.header('retry-after', visible.options.retryAfterSeconds)
  return reply.status(visible.status).type('application/json; charset=utf-8').serializer(JSON.stringify).send(visible.body())
}

function logFailure(failure: Failure, request: FastifyRequest): void {
  const { id: reqId, method, routeOptions } = request
  const fields = { reqId, method, route: routeOptions.url, code: failure.code, status: failure.status }
  // An intentional rejection (rate limit, overload) is not logged as an error.
  const isRefusal = failure.code === 'unavailable' && failure.options.retryAfterSeconds !== undefined
  if (failure.status >= 500 && !isRefusal)
    request.log.error({ ...fields, err: failure.options.cause ?? failure }, 'http: request failed')
  else request.log.debug({ ...fields, field: failure.options.field }, 'http: request refused')
}

const failureByFastifyCode: Record<string, (error: FastifyError) => Failure> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new Failure('unsupported_media_type'),
  FST_ERR_CTP_BODY_TOO_LARGE: () => new Failure('payload_too_large'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new Failure('validation_failed', { message: 'The request body does not match its Content-Length' }),
  FST_ERR_BAD_URL: () => new Failure('not_found', { message: 'This route does not exist' }),
  FST_ERR_MAX_PARAM_LENGTH: () => new Failure('not_found', { message: 'This route does not exist' }),
}

const lostDatabaseMessage =
  'The connection to the database was lost. If the request changes something, check whether that was done. Then try again.'

export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof BadCursor)
    return new Failure('validation_failed', {
      field: 'cursor',
      message: 'cursor: invalid',
      details: [{ field: 'cursor', message: 'invalid' }],
    })
  if (isDatabaseUnavailable(error)) return new Failure('unavailable', { message: lostDatabaseMessage, cause: error })
  if (isDiskFull(error)) return new Failure('storage_full', { cause: error })
  const convert = failureByFastifyCode[(error as FastifyError).code]
  return convert ? convert(error as FastifyError) : new Failure('internal', { cause: error })
}
