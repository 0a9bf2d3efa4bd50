import { isDeepStrictEqual } from 'node:util'
import type { Service } from '@berth/contract'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { detectLocal } from '../local/detect-local.ts'
import { allowedFolder } from '../source.ts'
import { fetchStored } from '../uploads/stored-upload.ts'
import { findUploadSession, scanUpload } from '../uploads/uploads.ts'

interface Scanned {
  services?: Service[] | null
  uploadSessionId?: string | null
  localPath?: string | null
}

/**
 * A scan that is sent back holds the services of its Compose file. They are not copied into the project: the file goes on
 * saying what they are, also after it was changed.
 */
export async function leaveToFile<Body extends Scanned>(body: Body, organizationId: string, deps: ProjectsDeps): Promise<Body> {
  if (!body.services?.length) return body
  const found = await servicesOf(body, organizationId, deps)
  return found && isDeepStrictEqual(plain(found), plain(body.services)) ? { ...body, services: null } : body
}

async function servicesOf({ uploadSessionId, localPath }: Scanned, organizationId: string, deps: ProjectsDeps) {
  if (localPath) return (await detectLocal(await allowedFolder(localPath, 'localPath', deps), organizationId)).services
  const session = uploadSessionId && (await findUploadSession(deps.database.db, organizationId, uploadSessionId, nowOf(deps)))
  if (!session) return undefined
  const stored = await fetchStored(session, deps)
  return stored.status === 'received' ? (await scanUpload(stored, deps)).services : undefined
}

/** As they are in an answer: without the fields that are undefined. */
const plain = (services: readonly Service[]): unknown => JSON.parse(JSON.stringify(services))
