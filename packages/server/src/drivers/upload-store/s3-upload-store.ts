import type { Log } from '../../platform/log.ts'
import { addressGuard } from '../archive-store/address-guard.ts'
import type { ArchiveStore, S3Config } from '../archive-store/archive-store.ts'
import { createArchiveStores } from '../archive-store/create-archive-stores.ts'
import { keyPrefixOf, parseArchiveName } from '../archive-store/object-name.ts'
import type { UploadStore, UploadTerms } from './upload-store.ts'

/** Limits of a request; short, because an API caller waits for it. */
const silentMs = 20_000
const attempts = 2

/** An upload store in the operator's S3 bucket. The S3 library is loaded with the first upload. */
export function s3UploadStore(config: S3Config, log: Log): UploadStore {
  const stores = createArchiveStores({ log, allowPrivate: true, silentMs, attempts })
  let opened: Promise<ArchiveStore> | undefined
  const open = () => {
    opened ??= stores.open(config)
    return opened
  }
  const sign = signer(config)
  return {
    addressFor: sign.addressFor,
    size: async (name, abort) => (await open()).size(name, abort),
    async *get(name, abort) {
      yield* (await open()).get(name, abort)
    },
    async *list(prefix, abort) {
      yield* (await open()).list(prefix, abort)
    },
    remove: async (name, abort) => (await open()).remove(name, abort),
    async close() {
      await (await opened)?.close()
      await sign.close()
    },
  }
}

function signer(config: S3Config): Pick<UploadStore, 'addressFor' | 'close'> {
  let creating: Promise<import('@aws-sdk/client-s3').S3Client> | undefined
  const client = async () => {
    const { s3Client } = await import('../archive-store/s3-client.ts')
    return s3Client(config, addressGuard({ allowPrivate: true, allowsLocalAddress: true }))
  }
  return {
    async addressFor(name: string, { sizeBytes, contentType, seconds }: UploadTerms) {
      const { PutObjectCommand } = await import('@aws-sdk/client-s3')
      const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner')
      creating ??= client()
      const command = new PutObjectCommand({
        Bucket: config.bucket,
        Key: keyPrefixOf(config.prefix) + parseArchiveName(name).join('/'),
        ContentLength: sizeBytes,
        ContentType: contentType,
      })
      // The length is signed too, so the store rejects a body of another length.
      const signableHeaders = new Set(['host', 'content-type', 'content-length'])
      const url = await getSignedUrl(await creating, command, { expiresIn: seconds, signableHeaders })
      return { url, method: 'PUT', headers: { 'content-type': contentType, 'content-length': String(sizeBytes) } }
    },
    close: async () => (await creating)?.destroy(),
  }
}
