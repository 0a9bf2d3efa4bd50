import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { NotAge } from './age-header.ts'

/** The payload of the age format, version 1: chunks of 64 KiB, each under ChaCha20-Poly1305 with its number and whether it is the last. */
const chunkBytes = 64 * 1024
const tagBytes = 16
export const nonceBytes = 16
export const sealedChunkBytes = chunkBytes + tagBytes

export const payloadKey = (fileKey: Uint8Array, nonce: Uint8Array): Buffer =>
  Buffer.from(hkdfSync('sha256', fileKey, nonce, 'payload', 32))

function chunkNonce(counter: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(counter, 5, 6)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

/** The payload of content that is in memory. */
export function sealPayload(fileKey: Uint8Array, content: Uint8Array): Buffer[] {
  const nonce = randomBytes(nonceBytes)
  const key = payloadKey(fileKey, nonce)
  const sealed: Buffer[] = [nonce]
  const chunks = Math.max(1, Math.ceil(content.length / chunkBytes))
  for (let at = 0; at < chunks; at += 1) {
    const cipher = createCipheriv('chacha20-poly1305', key, chunkNonce(at, at === chunks - 1), { authTagLength: tagBytes })
    sealed.push(cipher.update(content.subarray(at * chunkBytes, (at + 1) * chunkBytes)), cipher.final(), cipher.getAuthTag())
  }
  return sealed
}

/** One sealed chunk. Rejects what was changed, moved, or cut off. */
export function openChunk(key: Uint8Array, counter: number, isLast: boolean, sealed: Uint8Array): Buffer {
  if (sealed.length < tagBytes || (sealed.length === tagBytes && counter > 0)) throw new NotAge('was cut off')
  const decipher = createDecipheriv('chacha20-poly1305', key, chunkNonce(counter, isLast), { authTagLength: tagBytes })
  decipher.setAuthTag(sealed.subarray(-tagBytes))
  try {
    const content = decipher.update(sealed.subarray(0, -tagBytes))
    decipher.final()
    return content
  } catch (cause) {
    throw new NotAge('was changed or cut off: its encryption does not fit', { cause })
  }
}

/** A whole payload that is in memory. */
export function openPayload(fileKey: Uint8Array, payload: Uint8Array): Buffer[] {
  if (payload.length < nonceBytes + tagBytes) throw new NotAge('was cut off')
  const key = payloadKey(fileKey, payload.subarray(0, nonceBytes))
  const chunks = Math.ceil((payload.length - nonceBytes) / sealedChunkBytes)
  return Array.from({ length: chunks }, (_, at) => {
    const start = nonceBytes + at * sealedChunkBytes
    return openChunk(key, at, at === chunks - 1, payload.subarray(start, start + sealedChunkBytes))
  })
}
