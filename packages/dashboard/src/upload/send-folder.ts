import { contract, limits, type ReplyOf } from '@berth/contract'
import { activeOrganization } from '../data/active-organization.ts'
import { call } from '../data/client.ts'
import { sizeText } from '../text/sizes.ts'
import type { Folder } from './folder-files.ts'
import { packTarball } from './tarball.ts'

export type Detection = ReplyOf<typeof contract.projects.scanUpload>['data']

export interface UploadProgress {
  step: 'packing' | 'sending' | 'detecting'
  done: number
  total: number
}

export interface SentFolder {
  sessionId: string
  detection: Detection
  files: number
  sizeBytes: number
}

/** Packs the folder, uploads it and has it scanned. `projectId`: the upload is only for that project. */
export async function sendFolder(
  folder: Folder,
  onProgress: (progress: UploadProgress) => void,
  projectId?: string,
): Promise<SentFolder> {
  if (folder.files.length === 0) throw new Error('The folder is empty, or contains only ignored files (node_modules, .git).')
  const total = folder.files.reduce((sum, { file }) => sum + file.size, 0)
  let done = 0
  const tarball = await packTarball(folder.files, (bytes) => {
    done += bytes
    onProgress({ step: 'packing', done, total })
  })
  if (tarball.size > limits.tarballBytes)
    throw new Error(
      `The packed folder is ${sizeText(tarball.size)}, and the limit is ${sizeText(limits.tarballBytes)}. Exclude files that the build does not need.`,
    )
  const { data: session } = await call(contract.projects.openUpload, {
    body: { name: folder.name.slice(0, 100), sizeBytes: tarball.size, ...(projectId ? { projectId } : {}) },
  })
  await uploadBlob(session.upload, tarball, (sent) => onProgress({ step: 'sending', done: sent, total: tarball.size }))
  onProgress({ step: 'detecting', done: 1, total: 1 })
  const { data: detection } = await call(contract.projects.scanUpload, { params: { sessionId: session.sessionId } })
  return { sessionId: session.sessionId, detection, files: folder.files.length, sizeBytes: tarball.size }
}

type Target = ReplyOf<typeof contract.projects.openUpload>['data']['upload']

/** Uses XMLHttpRequest, since fetch does not report upload progress. */
function uploadBlob({ url, method, headers }: Target, body: Blob, onSent: (bytes: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const target = new URL(url, window.location.href)
    const isOwnUpload = /^\/api\/(uploads|projects\/folder\/upload)\//.test(target.pathname)
    // The relay may return the URL by which the instance knows itself; the cookie works only at the page's own origin.
    request.open(method, isOwnUpload ? `${window.location.origin}${target.pathname}${target.search}` : url)
    // The browser sets the length itself, and scripts may not set it.
    for (const [name, value] of Object.entries(headers)) if (name !== 'content-length') request.setRequestHeader(name, value)
    const organization = activeOrganization.get()
    if (isOwnUpload && organization) request.setRequestHeader('x-organization-id', organization)
    request.upload.onprogress = ({ loaded }) => onSent(loaded)
    request.onerror = () => reject(new TypeError('The upload was interrupted'))
    request.onload = () => (request.status < 300 ? resolve() : reject(new Error(messageOf(request))))
    request.send(body)
  })
}

function messageOf({ responseText, status }: XMLHttpRequest): string {
  try {
    return (JSON.parse(responseText) as { error: string }).error
  } catch {
    return `The server answered ${status}`
  }
}
