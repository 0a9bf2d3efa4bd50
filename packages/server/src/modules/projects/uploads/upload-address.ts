import { hasPermission, limits, type QueryOf, uploadAddresses as rows } from '@berth/contract'
import type { Caller, Handlers } from '../../../http/handler.ts'
import type { UploadSessionRow } from '../../../platform/db/tables/projects.ts'
import { fail } from '../../../platform/failure.ts'
import type { SecretBox } from '../../../platform/secrets/secret-box.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { findSession, findUploadSession, receiveUpload } from './uploads.ts'

const purpose = 'upload-address'
const invalidUrlMessage = 'This upload URL is invalid or has expired'

/** Upload addresses of a cloud. A self-hosted instance has none: its uploads use the relay. */
export const storageAddresses = (deps: ProjectsDeps) =>
  deps.settings.mode === 'cloud' ? { rows, handlers: storeHandlers(deps) } : { rows: {}, handlers: {} }

const storeHandlers = (deps: ProjectsDeps): Handlers<typeof rows> => ({
  storeUpload: async ({ params, query, upload }, context) => {
    const { audit } = context
    const { session, maxBytes } =
      context.isSignedIn && query.signature === undefined
        ? await authorizeCaller(params.sessionId, context.caller, deps)
        : await authorizeBySignature(params.sessionId, query, deps)
    // The user who opened the session is recorded as the author of the upload.
    const { id, organizationId, createdBy } = session
    audit({ organizationId, userId: createdBy, objectKind: 'uploadSession', objectId: id })
    return { data: { sessionId: id, ...(await receiveUpload(session, upload, deps, maxBytes)) } }
  },
})

/** A URL whose holder may send one tarball of at most `limits.tarballBytes`, until the session expires. */
export const signedUrl = (
  session: SignedSession,
  { publicUrl, secretBox }: Pick<ProjectsDeps, 'publicUrl' | 'secretBox'>,
): string => `${publicUrl()}/api/uploads/${session.id}?${signUpload(session, limits.tarballBytes, secretBox)}`

type SignedSession = Pick<UploadSessionRow, 'id' | 'organizationId' | 'expiresAt'>

export function signUpload(session: SignedSession, maxBytes: number, secretBox: SecretBox): URLSearchParams {
  const signedFields = { expires: String(session.expiresAt), maxBytes: String(maxBytes) }
  return new URLSearchParams({ ...signedFields, signature: secretBox.sign(messageOf(session, signedFields), purpose) })
}

/** Responds the same for an altered, expired or unknown address, so that it discloses nothing about sessions. */
async function authorizeBySignature(sessionId: string, signedFields: QueryOf<typeof rows.storeUpload>, deps: ProjectsDeps) {
  const { expires = '', maxBytes = '', signature = '' } = signedFields
  const now = nowOf(deps)
  const session = await findSession(deps.database.db, sessionId, now).executeTakeFirst()
  const isSigned = session && deps.secretBox.isSigned(signature, messageOf(session, { expires, maxBytes }), purpose)
  const isAllowed = isSigned && Number(expires) > now && (await mayStillUpload(session, deps))
  if (!isAllowed) fail('not_found', { message: invalidUrlMessage })
  return { session, maxBytes: Number(maxBytes) }
}

/** Authorizes a linked instance that forwards an upload with the token of its link. */
async function authorizeCaller(sessionId: string, caller: Caller, deps: ProjectsDeps) {
  const { organizationId, projectIds } = caller
  const session = await findUploadSession(deps.database.db, organizationId, sessionId, nowOf(deps))
  if (!session || (projectIds && !projectIds.has(session.projectId ?? ''))) fail('not_found', { message: invalidUrlMessage })
  const tag = 'project:write'
  if (!hasPermission(caller, tag)) fail('forbidden', { permission: tag, message: `Permission ${tag} is required` })
  return { session, maxBytes: limits.tarballBytes }
}

/** The address grants no more than the role that the session's creator has at the time of use. */
async function mayStillUpload({ createdBy, organizationId }: UploadSessionRow, { roleOf }: ProjectsDeps): Promise<boolean> {
  const role = await roleOf(createdBy, organizationId)
  return role !== undefined && hasPermission({ role, scopes: null }, 'project:write')
}

/** Encoded as JSON, so that different values never produce the same message. */
const messageOf = (
  { id, organizationId }: Pick<SignedSession, 'id' | 'organizationId'>,
  signedFields: { expires: string; maxBytes: string },
) => JSON.stringify([id, organizationId, signedFields.expires, signedFields.maxBytes])
