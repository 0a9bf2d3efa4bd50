import { Type } from 'typebox'
import { route } from '../route.ts'
import { data, text } from '../shape.ts'
import { StoredUpload, tarballUpload } from './upload-shapes.ts'

const term = Type.Optional(text(200))

/**
 * Routes outside the spec's table, on a cloud instance only: its own upload storage, to which an upload session directs the
 * tarball.
 */
export const uploadAddresses = {
  storeUpload: route('PUT /uploads/:sessionId', {
    public: true,
    acceptsCaller: true,
    query: Type.Object({ expires: term, maxBytes: term, signature: term }),
    upload: tarballUpload,
    returns: data(StoredUpload),
    errors: ['not_found', 'payload_too_large', 'conflict'],
    summary: 'The tarball as raw bytes; the signature in the address is the credential, or a token that may write projects',
  }),
}
