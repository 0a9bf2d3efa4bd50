import { limits, tarballUpload } from '@berth/contract'
import { StoreFailure } from '../../../drivers/archive-store/store-failure.ts'
import type { UploadStore } from '../../../drivers/upload-store/upload-store.ts'
import type { UploadSessionRow } from '../../../platform/db/tables/projects.ts'
import { Failure, fail, refuse } from '../../../platform/failure.ts'
import { KeyedMutex } from '../../../platform/keyed-mutex.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { findUploadSession, receiveUpload } from './uploads.ts'

const fetchTimeoutMs = 5 * 60_000

export const storedName = (sessionId: string): string => `${sessionId}.tar.gz`
export const sessionIdOf = (name: string): string => name.replace(/\.tar\.gz$/, '')

/** Upload URL, signed for that many bytes and valid as long as the session. */
export const storeAddress = ({ id, declaredBytes }: UploadSessionRow, store: UploadStore) =>
  store.addressFor(storedName(id), {
    sizeBytes: declaredBytes as number,
    contentType: tarballUpload.contentType,
    seconds: limits.uploadSessionSeconds,
  })

/** Fetches one upload per organisation at a time: many requests of one organisation delay only that organisation. */
const locks = new KeyedMutex()

/**
 * Fetches an upload from the object store, checks it like any upload, and deletes it from the store. Callers that scan or use
 * an upload call this first. An upload that is not in the store yet leaves the session open.
 */
export async function fetchStored(session: UploadSessionRow, deps: ProjectsDeps): Promise<UploadSessionRow> {
  if (session.status === 'received' || session.inStore === 0) return session
  const { organizationId, id } = session
  const current = () => findUploadSession(deps.database.db, organizationId, id, nowOf(deps))
  return locks.run(organizationId, async () => {
    const newest = (await current()) ?? fail('not_found')
    // Another request has fetched it meanwhile, or the client uploaded it to the instance directly.
    if (newest.status === 'received') return newest
    await fetchOnce(newest, deps.uploadStore ?? fail('conflict', { message: noStoreMessage }), deps)
    return (await current()) ?? fail('not_found')
  })
}

/** Fetches the upload before a project or a deployment refers to it; an unknown session is refused by the later lookup. */
export async function fetchUploadById(sessionId: string, organizationId: string, deps: ProjectsDeps): Promise<void> {
  const session = await findUploadSession(deps.database.db, organizationId, sessionId, nowOf(deps))
  if (session) await fetchStored(session, deps)
}

const noStoreMessage = 'This instance no longer accepts uploads to an object store. Open a new upload session.'

async function fetchOnce(session: UploadSessionRow, store: UploadStore, deps: ProjectsDeps): Promise<void> {
  const name = storedName(session.id)
  const abort = AbortSignal.timeout(fetchTimeoutMs)
  try {
    const size = await store.size(name, abort)
    if (size === undefined) return
    // Checked before the download: the object may have been written by other means than the signed URL.
    if (size !== session.declaredBytes) refuse('upload', `has ${size} bytes instead of the announced ${session.declaredBytes}`)
    await receiveUpload(session, store.get(name, abort), deps)
  } catch (error) {
    // An invalid upload stays invalid: it is removed, so that it is not fetched again and the client can send another.
    if (error instanceof Failure && error.status < 500) await removeFromStore(name, store, deps)
    throw error instanceof StoreFailure ? storeUnreachable(error) : error
  }
  await removeFromStore(name, store, deps)
}

const storeUnreachable = (cause: StoreFailure) =>
  new Failure('unavailable', { message: 'The object store for uploads is unreachable. Try again in a minute.', cause })

/** An object that cannot be removed now is removed by the hourly job. */
const removeFromStore = (name: string, store: UploadStore, { log }: ProjectsDeps): Promise<void> =>
  store
    .remove(name, AbortSignal.timeout(30_000))
    .catch((err) => log.warn({ err, name }, 'projects: upload not removed from the object store yet'))
