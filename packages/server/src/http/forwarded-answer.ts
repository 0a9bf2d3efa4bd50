import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import type { AnyRoute } from '@berth/contract'
import { Failure, fail } from '../platform/failure.ts'
import type { ForwardedAnswer } from './cloud-proxy.ts'

/** Maximum size of a response that is read and checked before any byte is sent; a larger one is streamed. */
const maxBufferedBytes = 64 * 1024
/** Time limit from the request to the end of a short response, so that a slow cloud is detected as soon as a silent one. */
const maxBufferedMs = 4_500
/** Minimum time for the body after an early response head: head and body together take less than 5 s. */
const minBodyMs = 1_000
/** A later head comes from a cloud that has confirmed that it is reachable (`stall-watch.ts`): its body gets more time. */
const earlyHeadMs = 3_900
const minLateBodyMs = 2_000
/** Limits for a response that is not a stream; no route of this product reaches them. */
const maxBytes = 512 * 1024 * 1024
const maxPauseMs = 30_000

export type AnswerBody = { text: string } | { events: Readable } | { stream: Readable } | { isEmpty: true }

/**
 * Checks and reads a response of the cloud. It is served from this instance's origin to signed-in users, so only JSON and event
 * streams pass: no page, script or redirect. Anything else becomes a 503, as for an unreachable cloud.
 */
export async function readAnswer(
  row: AnyRoute,
  method: string,
  answer: ForwardedAnswer,
  requestedAt: number,
): Promise<AnswerBody> {
  const { status, body } = answer
  try {
    if (status < 200 || status > 599 || (status >= 300 && status < 400)) failUnreachable(`it responded with status ${status}`)
    if (status === 401) fail('cloud_unreachable', { message: revokedMessage })
    if (method === 'HEAD' || status === 204) {
      body.resume()
      return { isEmpty: true }
    }
    const isStream = row.stream !== undefined && status === 200
    checkType(answer, isStream ? 'text/event-stream' : 'application/json')
    if (isStream) return { events: body }
    const read =
      Number(answer.headers['content-length'] ?? 0) > maxBufferedBytes ? null : await readWhole(body, maxBodyMs(requestedAt))
    return read ? { text: checkedText(read) } : { stream: limitStream(body) }
  } catch (error) {
    body.once('error', () => {}).destroy()
    throw error
  }
}

/** Time limit for the body of a short response, after its head. */
export function maxBodyMs(requestedAt: number): number {
  const waitedMs = performance.now() - requestedAt
  return Math.max(waitedMs <= earlyHeadMs ? minBodyMs : minLateBodyMs, maxBufferedMs - waitedMs)
}

/** Response headers that are passed back: those about the body and its caching. */
const relayedHeaders = ['content-type', 'cache-control', 'retry-after', 'x-accel-buffering']

export function responseHeaders({ headers }: ForwardedAnswer, body: AnswerBody): Record<string, string> {
  const names = 'stream' in body ? [...relayedHeaders, 'content-length'] : relayedHeaders
  return Object.fromEntries(names.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])))
}

function checkType({ headers }: ForwardedAnswer, expectedType: string): void {
  const contentType = String(headers['content-type'] ?? '')
    .split(';')[0]
    ?.trim()
    .toLowerCase()
  if (contentType !== expectedType || headers['content-encoding'] !== undefined)
    failUnreachable('its response is not from a Berth instance')
}

function checkedText(bytes: Buffer): string {
  if (!isUtf8(bytes)) failUnreachable('its response is invalid')
  const text = bytes.toString('utf8')
  try {
    JSON.parse(text)
  } catch {
    failUnreachable('its response is invalid')
  }
  return text
}

/** The cloud is reachable, but the link's token was revoked or has expired. */
export const revokedMessage = 'The cloud rejects the token of the link. Create a new token there and link the organisation again.'

const failUnreachable = (reason: string): never => fail('cloud_unreachable', { message: `The cloud is unreachable: ${reason}` })

/** Reads the whole body. Null when it is larger than the limit: the bytes are then put back, as if none were read. */
function readWhole(body: Readable, withinMs: number): Promise<Buffer | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | null>()
  const chunks: Buffer[] = []
  let size = 0
  const failIncomplete = () =>
    reject(new Failure('cloud_unreachable', { message: 'The cloud is unreachable: its response was incomplete' }))
  const onData = (chunk: Buffer) => {
    chunks.push(chunk)
    size += chunk.length
    if (size <= maxBufferedBytes) return
    stop()
    body.pause()
    body.unshift(Buffer.concat(chunks))
    resolve(null)
  }
  const onEnd = () => {
    stop()
    resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
  }
  const timer = setTimeout(failIncomplete, withinMs)
  const stop = () => {
    clearTimeout(timer)
    body.off('data', onData).off('end', onEnd).off('error', failIncomplete).off('close', failIncomplete)
  }
  body.on('data', onData).once('end', onEnd).once('error', failIncomplete).once('close', failIncomplete)
  return promise.finally(stop)
}

/** Limits a streamed response: a response that is too large or stalls is aborted, so that the client sees that it is incomplete. */
function limitStream(body: Readable): Readable {
  let size = 0
  const stallTimer = setTimeout(() => body.destroy(new Error('the cloud stopped sending its response')), maxPauseMs)
  body.once('close', () => clearTimeout(stallTimer))
  body.on('data', (chunk: Buffer) => {
    stallTimer.refresh()
    size += chunk.length
    if (size > maxBytes) body.destroy(new Error('the response of the cloud is too large'))
  })
  return body.pause()
}
