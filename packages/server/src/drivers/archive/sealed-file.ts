import { pipeline, Readable } from 'node:stream'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import type { Secret } from '../../platform/secrets/secret.ts'
import { recipientOf } from './instance-key.ts'

/** Encrypts content to one `.zst.age` file as a stream, for data that is a single file; archives consist of parts. */
export async function* sealedFile(content: AsyncIterable<Uint8Array>, identity: Secret): AsyncGenerator<Uint8Array> {
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  encrypter.addRecipient(await recipientOf(identity))
  const compressed = Readable.from(content).compose(createZstdCompress())
  yield* chunksOf(await encrypter.encrypt(webStream(compressed)))
}

/** Decrypts the content; rejects when the file was not encrypted to this key, was modified or truncated. */
export async function* openedFile(sealed: AsyncIterable<Uint8Array>, identity: Secret): AsyncGenerator<Uint8Array> {
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  decrypter.addIdentity(identity.reveal())
  const opened = await decrypter.decrypt(webStream(Readable.from(sealed)))
  const plain = createZstdDecompress()
  // A reader that stops early ends the pipeline, which is not an error. Errors of the source surface in the loop below.
  pipeline(Readable.from(chunksOf(opened)), plain, () => undefined)
  for await (const chunk of plain) yield chunk as Uint8Array
}

const webStream = (stream: Readable): ReadableStream<Uint8Array> =>
  Readable.toWeb(stream) as unknown as ReadableStream<Uint8Array>

async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) yield chunk
}
