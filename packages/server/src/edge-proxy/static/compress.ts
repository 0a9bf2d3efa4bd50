import { promisify } from 'node:util'
import type { Encoding } from './accept-encoding.ts'

/** More at once would take the thread pool from the reading of files. */
const maxConcurrent = 4
let underWay = 0

/** Undefined when it is not worth it, or too many are at it: the plain bytes are always right. */
export async function compress(bytes: Buffer, encoding: Encoding): Promise<Buffer | undefined> {
  if (underWay >= maxConcurrent) throw new Error('too many compressions at once')
  underWay += 1
  try {
    const smaller = await compressBy[encoding](bytes)
    return smaller.length < bytes.length * 0.95 ? smaller : undefined
  } finally {
    underWay -= 1
  }
}

/** zlib is loaded with the first use: an edge without static sites does without its memory. */
const compressBy: Record<Encoding, (bytes: Buffer) => Promise<Buffer>> = {
  async br(bytes) {
    const zlib = await import('node:zlib')
    const quality = { [zlib.constants.BROTLI_PARAM_QUALITY]: 5, [zlib.constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
    return promisify<Buffer, object, Buffer>(zlib.brotliCompress)(bytes, { params: quality })
  },
  async zstd(bytes) {
    const zlib = await import('node:zlib')
    return promisify<Buffer, Buffer>(zlib.zstdCompress)(bytes)
  },
  async gzip(bytes) {
    const zlib = await import('node:zlib')
    return promisify<Buffer, object, Buffer>(zlib.gzip)(bytes, { level: 6 })
  },
}
