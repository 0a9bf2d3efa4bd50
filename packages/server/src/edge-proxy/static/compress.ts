import { promisify } from 'node:util'
import type { Encoding } from './accept-encoding.ts'

/** Maximum number of concurrent compressions: more would block the thread pool, which also reads files. */
const maxConcurrent = 4
let running = 0

/** Returns undefined if the result is hardly smaller. Throws if too many compressions are running. */
export async function compress(bytes: Buffer, encoding: Encoding): Promise<Buffer | undefined> {
  if (running >= maxConcurrent) throw new Error('too many concurrent compressions')
  running += 1
  try {
    const smaller = await compressBy[encoding](bytes)
    return smaller.length < bytes.length * 0.95 ? smaller : undefined
  } finally {
    running -= 1
  }
}

/** zlib is loaded at its first use: an edge without static sites saves its memory. */
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
