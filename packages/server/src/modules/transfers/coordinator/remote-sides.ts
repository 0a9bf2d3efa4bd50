import { Readable } from 'node:stream'
import type { TransferExport, TransferImport } from '@berth/contract'
import type { CloudAddress, CloudApi, CloudRequest } from '../../../drivers/cloud-api/cloud-api.ts'
import type { CloudTransferRow } from '../../../platform/db/tables/transfers.ts'
import { cloudUnreachable, requestCloud, requireSuccess } from '../../cloud/index.ts'
import type { TransferSource, TransferTarget } from './sides.ts'

interface Remote {
  api: CloudApi
  address: CloudAddress
}

/** Limit for a response that names every file of the bundle: some 60,000 files, which are 500 GB. */
const filesBytes = 8 * 1024 * 1024

const json = { 'content-type': 'application/json' }
const withBody = (method: string, path: string, body: object): CloudRequest => ({
  method,
  path,
  headers: json,
  body: JSON.stringify(body),
})

export function remoteSource({ id, projectId, withData }: CloudTransferRow, { api, address }: Remote): TransferSource {
  const call = async (request: CloudRequest) =>
    requireSuccess(await requestCloud(api, address, request, { maxBytes: filesBytes })) as TransferExport
  const path = `/api/departures/${id}`
  return {
    startExport: (recipient) =>
      call(
        withBody('POST', `/api/projects/${encodeURIComponent(projectId)}/departure`, {
          transfer: id,
          recipient,
          withData: withData === 1,
        }),
      ),
    get: () => call({ method: 'GET', path }),
    change: (state) => call(withBody('PATCH', path, { state })),
    read: (file, abort) => download(`${path}/files/${encodeURIComponent(file)}`, { api, address }, abort),
  }
}

export function remoteTarget({ id, projectId }: CloudTransferRow, { api, address }: Remote): TransferTarget {
  const call = async (request: CloudRequest) =>
    requireSuccess(await requestCloud(api, address, request, { maxBytes: filesBytes })) as TransferImport
  const path = `/api/arrivals/${id}`
  return {
    openImport: () => call(withBody('PUT', path, { project: projectId })),
    get: () => call({ method: 'GET', path }),
    change: (change) => call(withBody('PATCH', path, change)),
    async write({ name, sizeBytes, sha256 }, bytes, abort) {
      requireSuccess(
        await requestCloud(api, address, {
          method: 'PUT',
          path: `${path}/files/${encodeURIComponent(name)}?sha256=${sha256}`,
          headers: { 'content-type': 'application/octet-stream', 'content-length': String(sizeBytes) },
          body: Readable.from(bytes, { objectMode: false }),
          abort,
        }),
      )
    },
  }
}

async function download(path: string, { api, address }: Remote, abort: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  try {
    const { status, body } = await api.send(address, { method: 'GET', path, abort })
    if (status === 200) return body
    body.destroy()
    return requireSuccess({ status, body: null })
  } catch (error) {
    throw cloudUnreachable(error)
  }
}
