import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { limits, Service } from '@berth/contract'
import { Type } from 'typebox'
import { FolderLimitExceeded, folderReader } from '../../../drivers/reader/folder-reader.ts'
import { TooManyWaiting } from '../../../drivers/reader/reader-queue.ts'
import { drain, readTarball } from '../../../drivers/tarball/read-tarball.ts'
import { receiveTarball } from '../../../drivers/tarball/receive-tarball.ts'
import { BadArchive, BadEntry, TooLarge } from '../../../drivers/tarball/tarball-errors.ts'
import { unpackSource } from '../../../drivers/tarball/unpack-source.ts'
import type { Caller } from '../../../http/handler.ts'
import { newId } from '../../../platform/db/ids.ts'
import { jsonColumn } from '../../../platform/db/json-columns/json-column.ts'
import { uploadSessionJson } from '../../../platform/db/json-columns/projects.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { UploadSessionRow } from '../../../platform/db/tables/projects.ts'
import { isDiskFull } from '../../../platform/disk-full.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import { inSteadyMemory } from '../../../platform/steady-memory.ts'
import { cleanName, type Detection, knownFrameworks, knownPackageManagers } from '../../../source/detection/index.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { refuseUnstorable } from '../fields.ts'
import { UploadFiles } from './upload-files.ts'
import { refuseTooManyUploads } from './upload-quota.ts'

export interface UploadHints {
  name?: string
  stack?: string
  packageManager?: string
  projectId?: string
  sizeBytes?: number
  sha256?: string
}

const unpackLimits = { maxDecompressedBytes: limits.unpackedBytes }

export const findUploadSession = (
  db: Db,
  organizationId: string,
  id: string,
  now: number,
): Promise<UploadSessionRow | undefined> =>
  findSession(db, id, now).where('organizationId', '=', organizationId).executeTakeFirst()

/** Finds the session of any organisation: for routes whose credential is bound to the session. */
export const findSession = (db: Db, id: string, now: number) =>
  db.selectFrom('uploadSessions').selectAll().where('id', '=', id).where('expiresAt', '>', now)

export async function openUpload(
  { projectId, sizeBytes, sha256, ...hints }: UploadHints,
  caller: Pick<Caller, 'organizationId' | 'userId'>,
  deps: ProjectsDeps,
): Promise<UploadSessionRow> {
  refuseUnstorable(hints)
  if (sizeBytes !== undefined && sizeBytes > limits.tarballBytes)
    fail('payload_too_large', { message: new TooLarge(limits.tarballBytes).message, field: 'sizeBytes' })
  const now = nowOf(deps)
  const row: UploadSessionRow = {
    id: newId('upl'),
    organizationId: caller.organizationId,
    createdBy: caller.userId,
    projectId: projectId ?? null,
    hints: JSON.stringify(hints),
    status: 'open',
    declaredBytes: sizeBytes ?? null,
    declaredSha256: sha256 ?? null,
    // A signed URL can fix an exact size, not a maximum: an upload of unknown size would be unlimited.
    inStore: deps.uploadStore && sizeBytes !== undefined ? 1 : 0,
    cloudSessionId: null,
    sizeBytes: null,
    files: null,
    scan: null,
    expiresAt: now + limits.uploadSessionSeconds * 1000,
    createdAt: now,
  }
  await deps.database.transaction(async (transaction) => {
    await refuseTooManyUploads(transaction, row.organizationId, now, deps)
    await transaction.db.insertInto('uploadSessions').values(row).execute()
  })
  return row
}

/** Stores the tarball completely and checked. On an error nothing is stored, and the session stays open. */
export async function receiveUpload(
  session: UploadSessionRow,
  bytes: AsyncIterable<Uint8Array>,
  deps: ProjectsDeps,
  maxBytes: number = limits.tarballBytes,
): Promise<{ sizeBytes: number; files: number }> {
  refuseReceived(session)
  const files = new UploadFiles(deps)
  const incoming = files.incoming(session.id)
  try {
    const { sizeBytes, sha256 } = await receiveTarball(inSteadyMemory(bytes), incoming, { maxBytes })
    refuseMismatch(session, { sizeBytes, sha256 })
    const summary = await readTarball(incoming, unpackLimits, (_entry, content) => drain(inSteadyMemory(content)))
    await recordUpload(session, { incoming, sizeBytes, files: summary.files }, files, deps)
    return { sizeBytes, files: summary.files }
  } catch (error) {
    throw toApiFailure(error)
  } finally {
    await rm(incoming, { force: true })
  }
}

/** Refuses an upload that differs from the declared size or SHA-256. */
function refuseMismatch(
  { declaredBytes, declaredSha256 }: UploadSessionRow,
  received: { sizeBytes: number; sha256: string },
): void {
  if (declaredBytes !== null && received.sizeBytes !== declaredBytes)
    refuse('upload', `has ${received.sizeBytes} bytes instead of the announced ${declaredBytes}. Send it again.`)
  if (declaredSha256 !== null && received.sha256 !== declaredSha256)
    refuse('upload', `has the SHA-256 ${received.sha256} instead of the announced one. Send it again.`)
}

/** The first of two concurrent uploads wins: a stored upload never changes, since a project may refer to it. */
async function recordUpload(
  { id, organizationId }: UploadSessionRow,
  received: { incoming: string; sizeBytes: number; files: number },
  files: UploadFiles,
  deps: ProjectsDeps,
): Promise<void> {
  let isStored = false
  await deps.database.transaction(async ({ db, lock }) => {
    await lock(`upload:${id}`)
    refuseReceived((await findUploadSession(db, organizationId, id, nowOf(deps))) ?? fail('not_found'))
    if (!isStored) await files.store(received.incoming, id)
    isStored = true
    await db
      .updateTable('uploadSessions')
      .set({ status: 'received', sizeBytes: received.sizeBytes, files: received.files })
      .where('id', '=', id)
      .execute()
  })
}

function refuseReceived({ status }: Pick<UploadSessionRow, 'status'>): void {
  if (status === 'received') fail('conflict', { message: 'This session already has its upload. Open a new session.' })
}

const storedScan = jsonColumn(
  'uploadSessions',
  'scan',
  Type.Unsafe<Detection>(
    Type.Object({
      type: Type.String(),
      services: Type.Array(Service),
      runtimeVersion: Type.Record(Type.String(), Type.String()),
    }),
  ),
)

/** The scan of the session's files; scans them now where there is none. */
export const newestScan = async (session: UploadSessionRow, deps: ProjectsDeps): Promise<Detection> =>
  storedScan(session) ?? scanUpload(session, deps)

/** Detects the framework from the archive's files; hints apply where the files give no answer. */
export async function scanUpload(session: UploadSessionRow, deps: ProjectsDeps): Promise<Detection> {
  if (session.status !== 'received') fail('conflict', { message: 'This session has no upload yet. Upload the tarball first.' })
  const files = new UploadFiles(deps)
  const folder = files.scanFolder()
  try {
    // The worker starts while the files are being unpacked.
    folderReader.warm()
    const { rootName } = await unpackSource(files.of(session.id), folder, unpackLimits)
    const detection = await folderReader.detect(folder, { organizationId: session.organizationId })
    // A name that equals the scan folder's is temporary, not the user's.
    const name = detection.name === basename(folder) ? rootName : detection.name
    const scan = withHints({ ...detection, name }, uploadSessionJson.hints(session))
    const { db } = deps.database
    await db
      .updateTable('uploadSessions')
      .set({ scan: JSON.stringify(scan) })
      .where('id', '=', session.id)
      .execute()
    return scan
  } catch (error) {
    throw toApiFailure(error)
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

function withHints(detection: Detection, hints: UploadHints): Detection {
  return {
    ...detection,
    name: cleanName(detection.name ?? '') || cleanName(hints.name ?? '') || null,
    framework: detection.framework ?? knownHint(hints.stack, knownFrameworks),
    packageManager: detection.packageManager ?? knownHint(hints.packageManager, knownPackageManagers),
  }
}

/** An unknown hint is ignored. */
const knownHint = (hint: string | undefined, names: readonly string[]): string | null =>
  names.find((name) => name === hint?.trim().toLowerCase()) ?? null

/** Maps errors to API failures: the client learns what is wrong with its upload. */
function toApiFailure(error: unknown): unknown {
  try {
    if (error instanceof TooLarge) fail('payload_too_large', { message: error.message, field: 'upload' })
    if (error instanceof BadEntry || error instanceof BadArchive) refuse('upload', error.message)
    if (error instanceof FolderLimitExceeded) fail('source_unreadable', { message: error.message, cause: error })
    if (error instanceof TooManyWaiting) fail('rate_limited', { message: error.message, cause: error })
    if (isDiskFull(error)) fail('storage_full', { cause: error })
    if (isConnectionLost(error)) refuse('upload', 'is incomplete: the connection was lost')
    return error
  } catch (failure) {
    return failure
  }
}

const isConnectionLost = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'ERR_STREAM_PREMATURE_CLOSE')
