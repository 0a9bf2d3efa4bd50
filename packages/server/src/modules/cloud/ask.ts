import { type CloudAddress, type CloudApi, type CloudRequest, CloudUnreachable } from '../../drivers/cloud-api/cloud-api.ts'
import { revokedMessage } from '../../http/forwarded-answer.ts'
import { Failure } from '../../platform/failure.ts'

const maximumBytes = 32 * 1024 * 1024

// biome-ignore lint/suspicious/noExplicitAny: each caller checks the parts that it needs
type Asked = Promise<{ status: number; body: any }>

/** Calls the cloud with the link's token. A token that the cloud refuses is 503 as well, and says what to do. */
export async function ask(api: CloudApi, address: CloudAddress, request: CloudRequest): Asked {
  const answer = await askWithAny(api, address, request)
  if (answer.status === 401) throw new LinkRevoked()
  return answer
}

/** The cloud answers, and does not take the link's token: it was revoked or has expired. */
export class LinkRevoked extends Failure {
  constructor() {
    super('cloud_unreachable', { words: revokedMessage })
  }
}

/** One call whose answer is read whole, as JSON. Whatever is wrong with the way there is 503 `cloud_unreachable`. */
export async function askWithAny(api: CloudApi, address: CloudAddress, request: CloudRequest): Asked {
  try {
    const { status, body } = await api.send(address, request)
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      size += chunk.length
      if (size > maximumBytes) throw new CloudUnreachable('the cloud answers without end')
      chunks.push(chunk)
    }
    return { status, body: JSON.parse(Buffer.concat(chunks).toString('utf8') || 'null') }
  } catch (error) {
    throw cloudUnreachable(error)
  }
}

/** The caller's own abort stays what it is. */
export function cloudUnreachable(error: unknown): unknown {
  if (error instanceof Error && error.name === 'AbortError') return error
  const reason = error instanceof CloudUnreachable ? error.message : 'its answer cannot be read'
  return new Failure('cloud_unreachable', { words: `The cloud service cannot be reached: ${reason}`, cause: error })
}
