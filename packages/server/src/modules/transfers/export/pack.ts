import { createHash } from 'node:crypto'
import type { BundleFile } from '@berth/contract'
import type { ArchiveIndex, ArchivePart } from '../../../drivers/archive/archive.ts'
import { findStoredParts } from '../../../drivers/archive/find-stored-parts.ts'
import { createTransferWriter, type TransferWriter } from '../../../drivers/archive/transfer-archives.ts'
import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import { isMissing } from '../../../drivers/archive-store/store-failure.ts'
import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import { type BundleBody, partsOf } from '../bundle/bundle-body.ts'
import { openFiles, readWhole, untilDiskFull } from '../bundle/bundle-files.ts'
import { openExportKeys } from '../bundle/bundle-keys.ts'
import { manifestName, signManifest } from '../bundle/manifest.ts'
import type { TransfersDeps } from '../deps.ts'
import { TransferFailed } from '../failures.ts'
import { updateSide } from '../rows/side-store.ts'

interface Packing {
  row: TransferSideRow
  pass: 1 | 2
  store: ArchiveStore
  writer: TransferWriter
  /** Parts of the previous pass, by content hash: unchanged parts are not packed again. */
  earlier: ReadonlyMap<string, ArchivePart>
  deps: TransfersDeps
  abort: AbortSignal
}

/** Indexes of a pass, for the next one: names, sizes and keyed hashes. Not part of the bundle. */
const indexName = (pass: number) => `index.${pass}.json`
const maxIndexBytes = 256 * 1024 * 1024

/** Packs the whole project into encrypted files. Returns all files to fetch; a restart begins anew. */
export async function pack(row: TransferSideRow, pass: 1 | 2, deps: TransfersDeps, abort: AbortSignal): Promise<BundleFile[]> {
  const { contentKey, signingKey } = openExportKeys(row, deps)
  const store = await openFiles(row.id, deps)
  const writer = createTransferWriter({ recipient: row.recipient, contentKey: Buffer.from(contentKey, 'base64') }, deps.workers)
  try {
    const packing: Packing = { row, pass, store, writer, earlier: await earlierParts(store, pass, abort), deps, abort }
    const packed = await packAll(packing)
    await put(store, indexName(pass), Buffer.from(JSON.stringify(partsOf(packed))), abort)
    const { sealed, sha256, compression } = await writer.seal(Buffer.from(JSON.stringify({ ...packed, contentKey })))
    const body = { name: `body.${pass}.json.${compression === 'zstd' ? 'zst' : 'gz'}.age`, sizeBytes: sealed.length, sha256 }
    await put(store, body.name, sealed, abort)
    const files = filesOf(partsOf(packed))
    const content = { transfer: row.id, project: row.projectId, pass, compression, body, files }
    const manifest = await put(store, manifestName(pass), signManifest(content, signingKey), abort)
    return [...files, body, manifest]
  } finally {
    await store.close()
  }
}

async function packAll(packing: Packing): Promise<Omit<BundleBody, 'contentKey'>> {
  const { row, deps, abort } = packing
  const described = await deps.projects.describe(row.projectId)
  if (!described) throw new TransferFailed('not_found', 'The project was deleted during the operation')
  const live = (await deps.deployments.summary(row.projectId))?.live
  const project = { ...described.bundle, deployed: live ? { commit: live.commit } : null }
  const { files } = described
  const source = files && (await write('source', 'tgz', await readFiles(files, packing), packing))
  const volumes: BundleBody['volumes'] = []
  const existing = await deps.data.volumes(row.projectId)
  if (row.withData)
    for (const [at, { id, name, serverId }] of existing.entries()) {
      const tar = deps.data.runtimeFor(serverId).readVolume(id, abort)
      volumes.push({ name, index: await write(`v${at}`, 'tar', tar, packing) })
    }
  const warnings = [
    ...(row.withData
      ? []
      : existing.map(({ name }) => `Volume ${name} was not transferred: at the target it is empty or unchanged`)),
    ...described.notExportedUploads.map(uploadLeftBehind),
    ...(await deps.untransferredParts(row.projectId)),
  ]
  await updateSide(deps.database.db, row.id, { warnings: JSON.stringify(warnings) })
  return { project, source, volumes, history: await deps.history.read(row.projectId) }
}

const uploadLeftBehind = (slug: string): string =>
  `The upload of environment ${slug} was not transferred. Deploy the folder to ${slug} again at the target`

async function readFiles(files: Parameters<TransfersDeps['projects']['readFiles']>[0], { deps, abort }: Packing) {
  try {
    return await deps.projects.readFiles(files, abort)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    throw new TransferFailed('source_failed', 'The upload of the project was deleted. Upload the folder again.', {
      cause,
    })
  }
}

const write = (base: string, extension: string, content: AsyncIterable<Uint8Array>, packing: Packing): Promise<ArchiveIndex> =>
  packing.writer.write(untilDiskFull(content, packing.deps), {
    store: packing.store,
    base: `p${packing.pass}-${base}`,
    extension,
    earlier: packing.earlier,
    abort: packing.abort,
  })

async function earlierParts(store: ArchiveStore, pass: number, abort: AbortSignal): Promise<ReadonlyMap<string, ArchivePart>> {
  if (pass === 1) return new Map()
  try {
    const parts = JSON.parse((await readWhole(store, indexName(pass - 1), maxIndexBytes, abort)).toString('utf8'))
    return await findStoredParts(store, '', parts as ArchivePart[], abort)
  } catch (error) {
    if (isMissing(error)) return new Map()
    throw error
  }
}

/** Lists each file once, however often its content occurs in the project. */
const filesOf = (parts: readonly ArchivePart[]): BundleFile[] => [
  ...new Map(parts.map(({ name, sizeBytes, sha256 }) => [name, { name, sizeBytes, sha256 }])).values(),
]

async function put(store: ArchiveStore, name: string, bytes: Uint8Array, abort: AbortSignal): Promise<BundleFile> {
  await store.put(name, oneChunk(bytes), abort)
  return { name, sizeBytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
