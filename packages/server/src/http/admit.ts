import { type AnyRoute, uploadTokenHeader } from '@berth/contract'
import type { FastifyRequest } from 'fastify'
import { clientOf } from '../platform/address-set.ts'
import { type Awaitable, thenSync } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'
import { checkUrlText } from './clean-text.ts'
import { addressOf } from './client-address.ts'
import { checkTag } from './guard.ts'
import type { Caller } from './handler.ts'
import type { MountDeps, RequestState } from './mount-deps.ts'

/** Checks the rate limit, the credential and the permission, in that order, before the body is read; then the headers. */
export function admit(row: AnyRoute, request: FastifyRequest, deps: MountDeps): Awaitable<void> {
  const state: RequestState = { caller: null }
  request.state = state
  if (row.public) {
    deps.limiter.count(row.rateLimit ?? 'public', clientOf(addressOf(request)))
    if (!row.acceptsCaller) return checkHead(row, request)
    return thenSync(deps.authenticator.authenticate(request), (caller) => {
      state.caller = caller?.needsSecondFactor ? null : caller
      return checkHead(row, request)
    })
  }
  return thenSync(callerOf(row, request, deps), (caller) => {
    // An invalid credential counts as a public request of its address, so guessing is limited.
    if (caller) deps.limiter.count('signedIn', caller.userId)
    else deps.limiter.count('public', clientOf(addressOf(request)))
    state.caller = caller ?? fail('unauthorized')
    return thenSync(checkTag(row, state.caller, deps.authenticator, request.params), () => checkHead(row, request))
  })
}

function callerOf(row: AnyRoute, request: FastifyRequest, deps: MountDeps): Awaitable<Caller | null> {
  const token = row.streamToken ? (request.query as { token?: unknown }).token : undefined
  if (typeof token === 'string') return deps.spendStreamToken(token, request.url.split('?')[0] as string)
  const uploadToken = row.upload ? request.headers[uploadTokenHeader] : undefined
  if (typeof uploadToken !== 'string') return deps.authenticator.authenticate(request)
  return deps
    .useUploadToken(uploadToken, request.url.split('?')[0] as string)
    .then((caller) => caller ?? deps.authenticator.authenticate(request))
}

function checkHead(row: AnyRoute, request: FastifyRequest): void {
  checkLength(row, request)
  checkContentType(row, request)
  checkUrlText(request)
}

/** Rejects a declared length that is too large, before the body is read. */
function checkLength({ upload }: AnyRoute, { headers }: FastifyRequest): void {
  if (upload && Number(headers['content-length'] ?? 0) > upload.limitBytes)
    fail('payload_too_large', { field: 'upload', message: `The upload is larger than ${upload.limitBytes / 1_000_000} MB` })
}

/** Git hosts send webhook deliveries as JSON or, if the webhook is configured so, as a form. */
const formType = 'application/x-www-form-urlencoded'

/** A request of length 0 has no body and needs no content type. The length of a chunked body is known only after reading it. */
function checkContentType(row: AnyRoute, { headers }: FastifyRequest): void {
  // The body of a GET has no meaning and is not read.
  if (row.method === 'GET') return
  const isChunked = headers['transfer-encoding'] !== undefined
  const isEmpty = !isChunked && Number(headers['content-length'] ?? 0) === 0
  const contentType = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase()
  const expectedType = row.upload?.contentType ?? 'application/json'
  const isSignedForm = row.rawBody === true && contentType === formType
  if ((contentType === expectedType || isSignedForm) && !isEmpty && !row.ignoresBody) return
  // The parser for bodies without a content type accepts only an empty body.
  if (isEmpty || row.ignoresBody || (isChunked && !row.upload)) delete headers['content-type']
  else fail('unsupported_media_type', { message: `Send the body as ${expectedType}` })
}
