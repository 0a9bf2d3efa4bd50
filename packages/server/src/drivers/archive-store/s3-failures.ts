import { StoreFailure } from './store-failure.ts'

interface S3Error extends Error {
  code?: string
  $metadata?: { httpStatusCode?: number }
}

export type S3Operation = 'PutObject' | 'GetObject' | 'ListBucket' | 'DeleteObject' | 'ListBucketMultipartUploads'

/** Maps an error of S3 or of the connection to a `StoreFailure`; `operation` is the permission that was needed. */
export function s3Failure(error: unknown, operation: S3Operation, bucket: string): unknown {
  if (error instanceof StoreFailure || !(error instanceof Error)) return error
  if (error.cause instanceof StoreFailure) return error.cause
  const { name, code = '', $metadata } = error as S3Error
  const status = $metadata?.httpStatusCode
  const report = (reason: StoreFailure['reason'], message: string) => new StoreFailure(reason, message, { cause: error })
  const known = failureByName[name]
  if (known) return report(known.reason, known.message(bucket, operation))
  if (status === 403 || status === 401)
    return report('denied', `The bucket ${bucket} denied access. Allow the access key s3:${operation} there.`)
  if (status === 404) return report('missing', 'The object does not exist')
  if (status === 507 || status === 413) return report('full', `The bucket ${bucket} is full. Free space or raise its quota.`)
  if (status === 429 || (status !== undefined && status >= 500))
    return report('unreachable', `S3 failed (${status} ${name}), will retry`)
  if (name === 'TimeoutError' || code === 'ETIMEDOUT') return report('timeout', 'The S3 request timed out')
  if (networkCodes.test(code)) return report('unreachable', `S3 cannot be reached (${code}): check the endpoint and the network`)
  if (tlsCodes.test(code)) return report('denied', `The TLS certificate of S3 is not trusted (${code})`)
  // Without a status there was no response of S3; an unknown error is returned unchanged.
  return status === undefined ? error : report('other', `S3 refused the request: ${error.message || name}`)
}

const networkCodes = /^(ECONN|EPIPE|EHOST|ENET|ENOTFOUND|EAI_|EADDRNOTAVAIL|EPROTO|HPE_|ERR_SOCKET)/
const tlsCodes = /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH)/

type Message = (bucket: string, operation: S3Operation) => string
const refusedKey: { reason: StoreFailure['reason']; message: Message } = {
  reason: 'denied',
  message: () => 'S3 rejected the access key or its secret. Enter both again.',
}
const full: { reason: StoreFailure['reason']; message: Message } = {
  reason: 'full',
  message: (bucket) => `The quota of the bucket ${bucket} is reached. Free space or raise the quota.`,
}

const failureByName: Record<string, { reason: StoreFailure['reason']; message: Message }> = {
  NoSuchBucket: { reason: 'denied', message: (bucket) => `The bucket ${bucket} does not exist. Create it, or correct its name.` },
  NoSuchKey: { reason: 'missing', message: () => 'The object does not exist' },
  NotFound: { reason: 'missing', message: () => 'The object does not exist' },
  InvalidAccessKeyId: refusedKey,
  SignatureDoesNotMatch: refusedKey,
  RequestTimeTooSkewed: {
    reason: 'denied',
    message: () => "The clocks of this machine and of S3 differ too much. Correct this machine's clock.",
  },
  AuthorizationHeaderMalformed: { reason: 'denied', message: () => 'The region is wrong. Enter the region of the bucket.' },
  PermanentRedirect: { reason: 'denied', message: (bucket) => `The bucket ${bucket} is in another region. Enter that region.` },
  QuotaExceeded: full,
  EntityTooLarge: full,
  XMinioStorageFull: full,
}
