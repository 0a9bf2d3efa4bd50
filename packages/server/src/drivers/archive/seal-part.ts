import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import zlib from 'node:zlib'
import { headerLength, InvalidAgeFile, makeHeader, openHeader } from './age-header.ts'
import { openPayload, sealFile } from './age-payload.ts'
import type { Compression } from './archive.ts'

export const compressionHere: Compression = 'zstdCompressSync' in zlib ? 'zstd' : 'gzip'

export const contentHash = (plain: Uint8Array, key: Uint8Array): string =>
  createHmac('blake2b512', key).update(plain).digest('hex').slice(0, 64)

export interface SealedPart {
  sealed: Uint8Array
  sha256: string
}

/** Compresses and encrypts a buffer, and frees it. CPU-intensive, so it runs in a worker thread. */
export async function sealPart(plain: Uint8Array, recipients: readonly string[]): Promise<SealedPart> {
  const header = await makeHeader(recipients)
  const compressed = compress(plain)
  freeBuffer(plain)
  const sealed = sealFile(header, compressed)
  freeBuffer(compressed)
  return { sealed, sha256: createHash('sha256').update(sealed).digest('hex') }
}

export interface OpenPartOptions {
  compression: Compression
  identities: readonly string[]
  /** Limit of the decompressed size, whatever the part's header says. */
  maxBytes: number
  /** Known size, for which memory is allocated at once: the caller must limit it. */
  expectedBytes?: number
}

/** Rejects with `InvalidAgeFile` when the part is not exactly what was encrypted. */
export async function openPart(sealed: Uint8Array, opening: OpenPartOptions): Promise<Buffer> {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length)
  const length = headerLength(bytes)
  if (length === undefined) throw new InvalidAgeFile('is truncated')
  const fileKey = await openHeader(bytes.subarray(0, length), opening.identities)
  const compressed = openPayload(fileKey, bytes.subarray(length))
  freeBuffer(sealed)
  const plain = decompress(compressed, opening)
  freeBuffer(compressed)
  return plain
}

/** Frees a large buffer that is no longer used: the garbage collector would first let some hundred MB accumulate. */
export function freeBuffer(bytes: Uint8Array): void {
  if (ownsBuffer(bytes)) (bytes.buffer as ArrayBuffer).transfer(0)
}

/** Whether the view covers nearly all of its buffer, which is too large to be Node's shared pool. */
export function ownsBuffer({ buffer, byteLength }: Uint8Array): boolean {
  return byteLength > 64 * 1024 && buffer.byteLength - byteLength <= buffer.byteLength >> 6
}

export function isEqual(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}

const zstdOptions = { params: { [zlib.constants.ZSTD_c_compressionLevel]: 3, [zlib.constants.ZSTD_c_checksumFlag]: 1 } }

function compress(plain: Uint8Array): Buffer {
  // Reserves room for all output: otherwise zlib collects pieces and copies them.
  const chunkSize = plain.length + (plain.length >> 7) + 1024
  return compressionHere === 'zstd'
    ? zlib.zstdCompressSync(plain, { ...zstdOptions, chunkSize })
    : zlib.gzipSync(plain, { level: 1, chunkSize })
}

function decompress(bytes: Uint8Array, { compression, maxBytes, expectedBytes }: OpenPartOptions): Buffer {
  try {
    // Reserves room for all output and one byte more: a full chunk would be followed by another.
    const chunkSize = Math.max(16 * 1024, (expectedBytes ?? 0) + 1)
    const options = { maxOutputLength: Math.max(1, maxBytes), chunkSize }
    return compression === 'zstd' ? zlib.zstdDecompressSync(bytes, options) : zlib.gunzipSync(bytes, options)
  } catch (cause) {
    const isTooLarge = cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE'
    throw new InvalidAgeFile(isTooLarge ? 'is larger than allowed' : 'cannot be decompressed', { cause })
  }
}
