import { headerLength, InvalidAgeFile, openHeader } from './age-header.ts'
import { nonceBytes, openChunk, payloadKey, sealedChunkBytes } from './age-payload.ts'

/**
 * Decrypts an age file as a stream; each chunk is returned after it was authenticated. Throws `InvalidAgeFile`, also when the file is
 * truncated.
 */
export async function* openAgeStream(source: AsyncIterable<Uint8Array>, identities: readonly string[]): AsyncGenerator<Buffer> {
  let key: Buffer | undefined
  let counter = 0
  let rest: Buffer = Buffer.alloc(0)
  for await (const bytes of source) {
    rest = rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([rest, bytes])
    if (!key) {
      const length = headerLength(rest)
      if (length === undefined || rest.length < length + nonceBytes) continue
      const fileKey = await openHeader(rest.subarray(0, length), identities)
      key = payloadKey(fileKey, rest.subarray(length, length + nonceBytes))
      rest = rest.subarray(length + nonceBytes)
    }
    // One chunk is held back: only the next bytes show that it is not the last.
    for (; rest.length > sealedChunkBytes; rest = rest.subarray(sealedChunkBytes)) {
      yield openChunk(key, counter, false, rest.subarray(0, sealedChunkBytes))
      counter += 1
    }
  }
  if (!key) throw new InvalidAgeFile('is incomplete, or is not an age file')
  yield openChunk(key, counter, true, rest)
}
