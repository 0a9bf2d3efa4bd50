import { Readable } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'
import { untilAborted } from '../shell/until-aborted.ts'
import type { AddressGuard } from './address-guard.ts'
import type { ArchiveStore, S3Config, StoredObject } from './archive-store.ts'
import { checkByRoundTrip } from './check-by-round-trip.ts'
import { inMemoryBytes } from './in-memory.ts'
import { CallCount, invalidListing, listingBounds } from './listing-bounds.ts'
import { isArchiveName, keyPrefixOf, parseArchiveName, parseArchivePrefix } from './object-name.ts'
import { capturePage } from './s3-answers.ts'
import { s3Client, withKnownHash } from './s3-client.ts'
import { type S3Operation, s3Failure } from './s3-failures.ts'
import type { S3Fields } from './s3-listing.ts'
import { isMissing, missing } from './store-failure.ts'

/** Part size of a multipart upload, for content of unknown size; several parts are sent concurrently. */
const pieceBytes = 8 * 1024 * 1024
const piecesAtOnce = 4
/** Names per page of a listing: with the longest keys, a page stays below the size limit. */
const pageKeys = 500

export async function s3Store(config: S3Config, guard: AddressGuard, bounds = listingBounds): Promise<ArchiveStore> {
  const sdk = await import('@aws-sdk/client-s3')
  const client = await s3Client(config, guard)
  const { bucket: Bucket } = config
  const keyPrefix = keyPrefixOf(config.prefix)
  const keyOf = (name: string) => keyPrefix + parseArchiveName(name).join('/')
  const withFailures = async <Result>(
    operation: S3Operation,
    abort: AbortSignal,
    work: () => Promise<Result>,
  ): Promise<Result> => {
    try {
      return await work()
    } catch (error) {
      abort.throwIfAborted()
      throw s3Failure(error, operation, Bucket)
    }
  }

  const store: Omit<ArchiveStore, 'check'> = {
    put: async (name, content, abort) => put({ client, Bucket, Key: keyOf(name) }, content, abort, withFailures),
    async *get(name, abort, { from = 0 } = {}) {
      const Range = from > 0 ? { Range: `bytes=${from}-` } : {}
      const command = new sdk.GetObjectCommand({ Bucket, Key: keyOf(name), ...Range })
      const { Body } = await withFailures('GetObject', abort, () => client.send(command, { abortSignal: abort })).catch(
        (error) => {
          throw isMissing(error) ? missing(name) : error
        },
      )
      yield* bytesOf(Body as Readable, abort, (error) => s3Failure(error, 'GetObject', Bucket))
    },
    async size(name, abort) {
      const command = new sdk.HeadObjectCommand({ Bucket, Key: keyOf(name) })
      try {
        return (await withFailures('GetObject', abort, () => client.send(command, { abortSignal: abort }))).ContentLength ?? 0
      } catch (error) {
        if (isMissing(error)) return undefined
        throw error
      }
    },
    list: (prefix, abort) => list(prefix, abort),
    async remove(name, abort) {
      const command = new sdk.DeleteObjectCommand({ Bucket, Key: keyOf(name) })
      await withFailures('DeleteObject', abort, () => client.send(command, { abortSignal: abort })).catch((error) => {
        if (!isMissing(error)) throw error
      })
    },
    removeUnfinished,
    close: async () => client.destroy(),
  }

  async function* list(prefix: string, abort: AbortSignal): AsyncGenerator<StoredObject> {
    const parts = parseArchivePrefix(prefix)
    const Prefix = keyPrefix + (parts.length > 0 ? `${parts.join('/')}/` : '')
    const calls = new CallCount(bounds)
    for (let ContinuationToken: string | undefined; ; ) {
      calls.next()
      const from = ContinuationToken === undefined ? {} : { ContinuationToken }
      const command = new sdk.ListObjectsV2Command({ Bucket, Prefix, MaxKeys: pageKeys, ...from })
      const read = capturePage(command, 'Contents', ['Key', 'Size', 'LastModified'])
      await withFailures('ListBucket', abort, () => client.send(command, { abortSignal: abort }))
      const { entries, page } = read.page
      for (const entry of entries) {
        const name = nameOf(entry)
        if (name !== undefined) yield { name, sizeBytes: sizeOf(entry), modifiedAt: timeOf(entry, 'LastModified').toISOString() }
      }
      const next = page.get('NextContinuationToken')
      if (page.get('IsTruncated') !== 'true' || !next) return
      if (next === ContinuationToken) throw invalidListing('contains the same page twice')
      ContinuationToken = next
    }
  }

  /** Undefined for objects in the bucket that are not archives of Berth. */
  function nameOf(entry: S3Fields): string | undefined {
    const key = entry.get('Key') ?? ''
    const name = key.slice(keyPrefix.length)
    return key.startsWith(keyPrefix) && isArchiveName(name) ? name : undefined
  }

  async function removeUnfinished(olderThan: Date, abort: AbortSignal): Promise<number> {
    let removed = 0
    const calls = new CallCount(bounds)
    for (let marker: { KeyMarker?: string; UploadIdMarker?: string } = {}; ; ) {
      calls.next()
      const command = new sdk.ListMultipartUploadsCommand({ Bucket, Prefix: keyPrefix, MaxUploads: pageKeys, ...marker })
      const read = capturePage(command, 'Upload', ['Key', 'UploadId', 'Initiated'])
      await withFailures('ListBucketMultipartUploads', abort, () => client.send(command, { abortSignal: abort }))
      const { entries, page } = read.page
      for (const entry of entries) {
        const [name, UploadId] = [nameOf(entry), entry.get('UploadId')]
        if (name === undefined || !UploadId || timeOf(entry, 'Initiated', olderThan) >= olderThan) continue
        const abortUpload = new sdk.AbortMultipartUploadCommand({ Bucket, Key: keyOf(name), UploadId })
        await withFailures('PutObject', abort, () => client.send(abortUpload, { abortSignal: abort })).catch((error) => {
          if (!isMissing(error)) throw error
        })
        removed += 1
      }
      const [KeyMarker, UploadIdMarker] = [page.get('NextKeyMarker'), page.get('NextUploadIdMarker')]
      if (page.get('IsTruncated') !== 'true' || !KeyMarker) return removed
      marker = { KeyMarker, ...(UploadIdMarker ? { UploadIdMarker } : {}) }
    }
  }

  return { ...store, check: (abort) => checkByRoundTrip(store, abort) }
}

type WithFailures = <Result>(operation: S3Operation, abort: AbortSignal, work: () => Promise<Result>) => Promise<Result>
interface Target {
  client: S3Client
  Bucket: string
  Key: string
}

async function put(target: Target, content: AsyncIterable<Uint8Array>, abort: AbortSignal, withFailures: WithFailures) {
  const inMemory = inMemoryBytes(content)
  return withFailures('PutObject', abort, () =>
    inMemory ? putInMemory(target, inMemory, abort) : putMultipart(target, content, abort),
  )
}

async function putInMemory(
  { client, Bucket, Key }: Target,
  { bytes, sha256 }: { bytes: Uint8Array; sha256?: string },
  abort: AbortSignal,
) {
  const { PutObjectCommand } = await import('@aws-sdk/client-s3')
  const command = new PutObjectCommand({ Bucket, Key, Body: bytes, ContentLength: bytes.length })
  await client.send(withKnownHash(command, sha256), { abortSignal: abort })
  return { sizeBytes: bytes.length }
}

async function putMultipart({ client, Bucket, Key }: Target, content: AsyncIterable<Uint8Array>, abort: AbortSignal) {
  const { Upload } = await import('@aws-sdk/lib-storage')
  abort.throwIfAborted()
  const counted = { bytes: 0, failure: undefined as { error: unknown } | undefined }
  const Body = Readable.from(counting(untilAborted(content, abort), counted))
  const upload = new Upload({
    client,
    params: { Bucket, Key, Body },
    partSize: pieceBytes,
    queueSize: piecesAtOnce,
    leavePartsOnError: false,
  })
  try {
    await upload.done()
    return { sizeBytes: counted.bytes }
  } catch (error) {
    // Rethrows the content's own error, however the library wraps it.
    throw counted.failure ? counted.failure.error : error
  } finally {
    Body.destroy()
  }
}

async function* counting(
  content: AsyncIterable<Uint8Array>,
  counted: { bytes: number; failure: { error: unknown } | undefined },
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of content) {
      counted.bytes += chunk.length
      yield chunk
    }
  } catch (error) {
    counted.failure = { error }
    throw error
  }
}

async function* bytesOf(body: Readable, abort: AbortSignal, failure: (error: unknown) => unknown): AsyncGenerator<Uint8Array> {
  const stop = () => body.destroy(abort.reason instanceof Error ? abort.reason : undefined)
  abort.addEventListener('abort', stop, { once: true })
  try {
    for await (const chunk of body) {
      yield chunk as Uint8Array
      abort.throwIfAborted()
    }
  } catch (error) {
    abort.throwIfAborted()
    throw failure(error)
  } finally {
    abort.removeEventListener('abort', stop)
    body.destroy()
  }
}

const sizeOf = (entry: S3Fields): number => {
  const bytes = Number(entry.get('Size'))
  return Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : 0
}

function timeOf(entry: S3Fields, field: string, fallback = new Date(0)): Date {
  const time = new Date(entry.get(field) ?? '')
  return Number.isNaN(time.getTime()) ? fallback : time
}
