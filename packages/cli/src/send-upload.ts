import { contract, type ReplyOf } from '@berth/contract'
import { type Client, errorOf, pathOf } from '@berth/contract/client'

type Session = Pick<ReplyOf<typeof contract.projects.openUpload>['data'], 'sessionId' | 'upload'>

/**
 * Sends a tarball where its session says. The relay of a self-hosted instance is a route like others and takes our token;
 * any other address brings its own credential and must never see ours.
 */
export async function sendUpload(client: Pick<Client, 'call'>, session: Session, bytes: ReadableStream): Promise<void> {
  const { sessionId, upload } = session
  if (isRelay(session)) {
    await client.call(contract.projects.relayUpload, { params: { sessionId }, upload: bytes })
    return
  }
  const { method, headers } = upload
  const init: RequestInit & { duplex: 'half' } = { method, headers, body: bytes, duplex: 'half' }
  const response = await fetch(upload.url, init)
  if (!response.ok) throw await errorOf(response)
  await response.body?.cancel()
}

function isRelay({ sessionId, upload: { url, method } }: Session): boolean {
  const { relayUpload } = contract.projects
  return method === relayUpload.method && new URL(url).pathname === `/api${pathOf(relayUpload, { sessionId })}`
}
