import { crc32 } from 'node:zlib'
import { tarEnd, tarEntry } from '../../src/drivers/tarball/hostile-corpus.ts'

/**
 * Streams a gzipped tarball with one file of the given size. The content is not compressed, so that as many bytes are sent as the
 * file has, and it is generated in chunks, so that sending it takes no memory.
 */
export async function* storedTarball(bytes: number): AsyncGenerator<Buffer> {
  let [sum, size] = [0, 0]
  yield Buffer.from([31, 139, 8, 0, 0, 0, 0, 0, 0, 255])
  for (const chunk of tar(bytes)) {
    ;[sum, size] = [crc32(chunk, sum), size + chunk.length]
    const head = Buffer.alloc(5)
    head.writeUInt16LE(chunk.length, 1)
    head.writeUInt16LE(~chunk.length & 0xffff, 3)
    yield Buffer.concat([head, chunk])
  }
  const end = Buffer.alloc(13)
  end[0] = 1
  end.writeUInt16LE(0xffff, 3)
  end.writeUInt32LE(sum, 5)
  end.writeUInt32LE(size, 9)
  yield end
}

const maxInBlock = 60_000

function* tar(bytes: number): Generator<Buffer> {
  yield tarEntry({ name: 'content', size: bytes })
  for (let left = bytes; left > 0; left -= maxInBlock) yield Buffer.alloc(Math.min(left, maxInBlock), left % 251)
  yield Buffer.concat([Buffer.alloc((512 - (bytes % 512)) % 512), tarEnd])
}
