import { type CloudAddress, type CloudApi, type CloudRequest, CloudUnreachable } from '../../drivers/cloud-api/cloud-api.ts'
import { Failure } from '../../platform/failure.ts'

const maximumBytes = 32 * 1024 * 1024

/** One question whose answer is read whole, as JSON. Whatever is wrong with the way there is 503 `cloud_unreachable`. */
export async function ask(
  api: CloudApi,
  address: CloudAddress,
  request: CloudRequest,
  // biome-ignore lint/suspicious/noExplicitAny: whoever asks looks at what it needs of it
): Promise<{ status: number; body: any }> {
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
