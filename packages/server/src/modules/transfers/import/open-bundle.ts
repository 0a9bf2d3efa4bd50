import { createHash } from 'node:crypto'
import type { BundleFile } from '@berth/contract'
import { createTransferReader, type TransferReader } from '../../../drivers/archive/transfer-archives.ts'
import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import { isMissing } from '../../../drivers/archive-store/store-failure.ts'
import { isTooDeep } from '../../../http/json-depth.ts'
import { checkShape } from '../../../http/validate.ts'
import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import { Failure } from '../../../platform/failure.ts'
import { BundleBody, partsOf } from '../bundle/bundle-body.ts'
import { openFiles, readWhole, refuseFullDisk } from '../bundle/bundle-files.ts'
import { openImportKeys } from '../bundle/bundle-keys.ts'
import { type Manifest, manifestName, readManifest } from '../bundle/manifest.ts'
import type { TransfersDeps } from '../deps.ts'
import { TransferFailed } from '../failures.ts'

/** A verified bundle: all of it is signed by its sender, and its content is valid. */
export interface OpenedBundle {
  body: BundleBody
  /** A hash of the project without its volumes. */
  digest: string
  read(index: BundleBody['volumes'][number]['index'], abort: AbortSignal): AsyncIterable<Uint8Array>
  close(): Promise<void>
}

const maxManifestBytes = 64 * 1024 * 1024
const maxBodyBytes = 64 * 1024 * 1024

export async function openBundle(
  row: TransferSideRow,
  pass: 1 | 2,
  deps: TransfersDeps,
  abort: AbortSignal,
): Promise<OpenedBundle> {
  const { identity } = openImportKeys(row, deps)
  const store = await openFiles(row.id, deps)
  const reader = createTransferReader(identity, deps.workers)
  const close = () => store.close()
  try {
    const body = await verifiedBody(row, pass, store, reader, deps, abort)
    const contentKey = Buffer.from(body.contentKey, 'base64')
    return { body, digest: digestOf(body), read: (index, stop) => reader.read(index, contentKey, { store, abort: stop }), close }
  } catch (error) {
    await close()
    throw toTransferFailure(error)
  }
}

async function verifiedBody(
  row: TransferSideRow,
  pass: 1 | 2,
  store: ArchiveStore,
  reader: TransferReader,
  deps: TransfersDeps,
  abort: AbortSignal,
): Promise<BundleBody> {
  const text = await readWhole(store, manifestName(pass), maxManifestBytes, abort)
  const manifest = readManifest(text, { signer: row.signer, transfer: row.id, project: row.projectId, pass })
  for (const file of [...manifest.files, manifest.body]) await checkFile(file, store, abort)
  const sealed = await readWhole(store, manifest.body.name, maxBodyBytes, abort)
  const unsealed = await reader.unseal(sealed, manifest.compression, maxBodyBytes)
  if (isTooDeep(unsealed)) throw new TransferFailed('bundle_refused', 'The content of the bundle is nested too deep')
  const body = checkShape(BundleBody, JSON.parse(Buffer.from(unsealed).toString('utf8')))
  refuseUnlisted(body, manifest)
  // PostgreSQL does not store NUL; the project's own fields are checked where they are recorded.
  if (JSON.stringify(body.history ?? null).includes('\\u0000'))
    throw new TransferFailed('bundle_refused', 'The history in the bundle contains an invalid character')
  await refuseFullDisk(
    body.volumes.reduce((sum, { index }) => sum + index.plainBytes, 0),
    deps,
  )
  return body
}

/** The last pass of a bundle. An export has one; a transfer has a second, packed after the project was stopped. */
export async function lastPass(row: TransferSideRow, deps: TransfersDeps, abort: AbortSignal): Promise<1 | 2> {
  const store = await openFiles(row.id, deps)
  try {
    return (await store.size(manifestName(2), abort)) === undefined ? 1 : 2
  } finally {
    await store.close()
  }
}

/** Checks a stored file's size and hash. */
async function checkFile({ name, sizeBytes, sha256 }: BundleFile, store: ArchiveStore, abort: AbortSignal): Promise<void> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of store.get(name, abort)) {
    bytes += chunk.length
    hash.update(chunk)
  }
  if (bytes !== sizeBytes || hash.digest('hex') !== sha256)
    throw new TransferFailed('bundle_damaged', `${name} was damaged on the way. Start the transfer again.`)
}

/** Checks that the signed manifest lists every file that the body names, with the same size and hash. */
function refuseUnlisted(body: BundleBody, { files }: Manifest): void {
  const listed = new Map(files.map((file) => [file.name, file]))
  for (const { name, sizeBytes, sha256 } of partsOf(body)) {
    const file = listed.get(name)
    if (file?.sizeBytes !== sizeBytes || file.sha256 !== sha256)
      throw new TransferFailed('bundle_damaged', `The bundle contains ${name}, which is not in its manifest`)
  }
}

function digestOf({ project, source }: BundleBody): string {
  const content = source?.parts.map((part) => part.content) ?? []
  return createHash('sha256')
    .update(JSON.stringify([project, content]))
    .digest('hex')
}

/** Maps errors of the sender's bundle to failures with a message. */
function toTransferFailure(error: unknown): unknown {
  if (isMissing(error)) return new TransferFailed('bundle_incomplete', `The bundle is incomplete: ${(error as Error).message}`)
  if (error instanceof SyntaxError) return new TransferFailed('bundle_damaged', 'The content of the bundle is invalid')
  if (error instanceof Failure && error.code === 'validation_failed')
    return new TransferFailed('bundle_refused', `This instance does not accept the content of the bundle: ${error.message}`)
  return error
}
