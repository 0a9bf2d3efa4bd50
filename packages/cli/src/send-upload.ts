import { contract, type ReplyOf } from '@berth/contract'
import { type Client, errorOf, pathOf } from '@berth/contract/client'
import { CliError } from './exit-codes.ts'

type Session = Pick<ReplyOf<typeof contract.projects.openUpload>['data'], 'sessionId' | 'upload'>

/**
 * Sends a tarball where its session says. The relay of a self-hosted instance is a route like others and takes our token;
 * any other address brings its own credential and must never see ours.
 */
export async function sendUpload(
  client: Pick<Client, 'call'>,
  session: Session,
  bytes: ReadableStream,
  sizeBytes?: number,
): Promise<void> {
  const { sessionId, upload } = session
  if (isRelay(session)) {
    await client.call(contract.projects.relayUpload, { params: { sessionId }, upload: bytes })
    return
  }
  const { method } = upload
  const headers = { ...upload.headers }
  if (sizeBytes !== undefined) headers['content-length'] = String(sizeBytes)
  const init: RequestInit & { duplex: 'half' } = { method, headers, body: bytes, duplex: 'half' }
  const response = await fetch(upload.url, init)
  if (!response.ok) throw await uploadError(response, upload.url)
  await response.body?.cancel()
}

/** The error of a rejected upload. An object store's own error format is replaced by a short message. */
async function uploadError(response: Response, url: string): Promise<Error> {
  const error = await errorOf(response)
  if (error.code !== 'unreadable_reply') return error
  return new CliError(`${new URL(url).host} rejected the upload (${response.status}). Try again.`)
}

function isRelay({ sessionId, upload: { url, method } }: Session): boolean {
  const { relayUpload } = contract.projects
  return method === relayUpload.method && new URL(url).pathname === `/api${pathOf(relayUpload, { sessionId })}`
}
