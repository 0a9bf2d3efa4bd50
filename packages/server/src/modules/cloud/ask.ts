import type { Readable } from 'node:stream'
import { type CloudAddress, type CloudApi, type CloudRequest, CloudUnreachable } from '../../drivers/cloud-api/cloud-api.ts'
import { bodyWithinMs, revokedMessage } from '../../http/forwarded-answer.ts'
import { Failure } from '../../platform/failure.ts'
import { parseInSlices } from '../../platform/sliced-json.ts'

/** A page of a list, a record. What is larger says so. */
const usualBytes = 1024 * 1024

interface AnswerBounds {
  mostBytes?: number
}

// biome-ignore lint/suspicious/noExplicitAny: each caller checks the parts that it needs
type Asked = Promise<{ status: number; body: any; bytes: number }>

/** Calls the cloud with the link's token. A token that the cloud refuses is 503 as well, and says what to do. */
export async function ask(api: CloudApi, address: CloudAddress, request: CloudRequest, bounds?: AnswerBounds): Asked {
  const answer = await askWithAny(api, address, request, bounds)
  if (answer.status === 401) throw new LinkRevoked()
  return answer
}

/** The cloud answers, and does not take the link's token: it was revoked or has expired. */
export class LinkRevoked extends Failure {
  constructor() {
    super('cloud_unreachable', { words: revokedMessage })
  }
}

/** The cloud's answer is longer than any of this product. */
export class CloudAnswerTooLong extends CloudUnreachable {}

/**
 * One call whose answer is read whole, as JSON, within the time of every short answer. Whatever is wrong with the way there is 503
 * `cloud_unreachable`.
 */
export async function askWithAny(
  api: CloudApi,
  address: CloudAddress,
  request: CloudRequest,
  { mostBytes = usualBytes }: AnswerBounds = {},
): Asked {
  const askedAt = performance.now()
  try {
    const { status, body } = await api.send(address, request)
    const text = await textOf(body, mostBytes, bodyWithinMs(askedAt))
    return { status, body: await parseInSlices(text || 'null'), bytes: text.length }
  } catch (error) {
    throw cloudUnreachable(error)
  }
}

async function textOf(body: Readable, mostBytes: number, withinMs: number): Promise<string> {
  const late = setTimeout(() => body.destroy(new CloudUnreachable('its response was incomplete')), withinMs)
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      size += chunk.length
      if (size > mostBytes) throw new CloudAnswerTooLong(`its answer is larger than ${mostBytes / 1024 / 1024} MB`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString('utf8')
  } finally {
    clearTimeout(late)
  }
}

/** The caller's own abort stays what it is. */
export function cloudUnreachable(error: unknown): unknown {
  if (error instanceof Error && error.name === 'AbortError') return error
  const reason = error instanceof CloudUnreachable ? error.message : 'its response is invalid'
  return new Failure('cloud_unreachable', { words: `The cloud is unreachable: ${reason}`, cause: error })
}
