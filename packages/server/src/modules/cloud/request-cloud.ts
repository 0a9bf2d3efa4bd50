import type { Readable } from 'node:stream'
import { type CloudAddress, type CloudApi, type CloudRequest, CloudUnreachable } from '../../drivers/cloud-api/cloud-api.ts'
import { maxBodyMs, revokedMessage } from '../../http/forwarded-answer.ts'
import { Failure } from '../../platform/failure.ts'
import { inSteadyMemory } from '../../platform/steady-memory.ts'

/** Limit for a page of a list or a single record. Callers that expect more pass their own limit. */
export const usualBytes = 1024 * 1024

interface AnswerBounds {
  maxBytes?: number
}

// biome-ignore lint/suspicious/noExplicitAny: each caller checks the parts that it needs
type Requested = Promise<{ status: number; body: any; bytes: number }>

/** Calls the cloud with the link's token. A refused token is also 503, with a message that says what to do. */
export async function requestCloud(
  api: CloudApi,
  address: CloudAddress,
  request: CloudRequest,
  bounds?: AnswerBounds,
): Requested {
  const answer = await requestWithAnyToken(api, address, request, bounds)
  if (answer.status === 401) throw new LinkRevoked()
  return answer
}

/** The cloud is reachable but refuses the link's token: it was revoked or has expired. */
export class LinkRevoked extends Failure {
  constructor() {
    super('cloud_unreachable', { message: revokedMessage })
  }
}

/** The cloud's response exceeds the maximum size of any Berth response. */
export class CloudAnswerTooLong extends CloudUnreachable {}

/**
 * Sends a request with any token, that of a link or not, and reads its whole response as JSON within the time limit of a short
 * response. Every transport error is 503 `cloud_unreachable`.
 */
export async function requestWithAnyToken(
  api: CloudApi,
  address: CloudAddress,
  request: CloudRequest,
  { maxBytes = usualBytes }: AnswerBounds = {},
): Requested {
  const requestedAt = performance.now()
  try {
    const { status, body } = await api.send(address, request)
    const text = await textOf(body, maxBytes, maxBodyMs(requestedAt))
    return { status, body: JSON.parse(text || 'null'), bytes: text.length }
  } catch (error) {
    throw cloudUnreachable(error)
  }
}

async function textOf(body: Readable, maxBytes: number, withinMs: number): Promise<string> {
  const late = setTimeout(() => body.destroy(new CloudUnreachable('its response was incomplete')), withinMs)
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of inSteadyMemory(body as AsyncIterable<Uint8Array>)) {
      size += chunk.length
      if (size > maxBytes) throw new CloudAnswerTooLong(`its response is larger than ${maxBytes / 1024 / 1024} MB`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString('utf8')
  } finally {
    clearTimeout(late)
  }
}

/** Maps an error to `cloud_unreachable`. The caller's own abort is returned unchanged. */
export function cloudUnreachable(error: unknown): unknown {
  if (error instanceof Error && error.name === 'AbortError') return error
  const reason = error instanceof CloudUnreachable ? error.message : 'its response is invalid'
  return new Failure('cloud_unreachable', { message: `The cloud is unreachable: ${reason}`, cause: error })
}
