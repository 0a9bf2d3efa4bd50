import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { type AgeHeader, InvalidAgeFile } from './age-header.ts'

/**
 * The payload of the age format, version 1, consists of chunks of 64 KiB, each encrypted with ChaCha20-Poly1305. The nonce of
 * a chunk contains its number and a flag that marks the last chunk.
 */
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

/** Encrypts content in memory to a complete age file. */
export function sealFile({ header, fileKey }: AgeHeader, content: Uint8Array): Buffer {
  const nonce = randomBytes(nonceBytes)
  const key = payloadKey(fileKey, nonce)
  const chunks = Math.max(1, Math.ceil(content.length / chunkBytes))
  const sealed = Buffer.allocUnsafeSlow(header.length + nonceBytes + content.length + chunks * tagBytes)
  sealed.set(header, 0)
  sealed.set(nonce, header.length)
  let at = header.length + nonceBytes
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    const cipher = createCipheriv('chacha20-poly1305', key, chunkNonce(chunk, chunk === chunks - 1), { authTagLength: tagBytes })
    const bytes = cipher.update(content.subarray(chunk * chunkBytes, (chunk + 1) * chunkBytes))
    cipher.final()
    sealed.set(bytes, at)
    sealed.set(cipher.getAuthTag(), at + bytes.length)
    at += bytes.length + tagBytes
  }
  return sealed
}

/** Decrypts one chunk. Throws for a chunk that was modified, moved or truncated. */
export function openChunk(key: Uint8Array, counter: number, isLast: boolean, sealed: Uint8Array): Buffer {
  if (sealed.length < tagBytes || (sealed.length === tagBytes && counter > 0)) throw new InvalidAgeFile('is truncated')
  const decipher = createDecipheriv('chacha20-poly1305', key, chunkNonce(counter, isLast), { authTagLength: tagBytes })
  decipher.setAuthTag(sealed.subarray(-tagBytes))
  try {
    const content = decipher.update(sealed.subarray(0, -tagBytes))
    decipher.final()
    return content
  } catch (cause) {
    throw new InvalidAgeFile('is damaged or incomplete: decryption failed', { cause })
  }
}

/** Decrypts a complete payload in memory. */
export function openPayload(fileKey: Uint8Array, payload: Uint8Array): Buffer {
  if (payload.length < nonceBytes + tagBytes) throw new InvalidAgeFile('is truncated')
  const key = payloadKey(fileKey, payload.subarray(0, nonceBytes))
  const chunks = Math.ceil((payload.length - nonceBytes) / sealedChunkBytes)
  const content = Buffer.allocUnsafeSlow(Math.max(0, payload.length - nonceBytes - chunks * tagBytes))
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    const start = nonceBytes + chunk * sealedChunkBytes
    const bytes = openChunk(key, chunk, chunk === chunks - 1, payload.subarray(start, start + sealedChunkBytes))
    content.set(bytes, chunk * chunkBytes)
  }
  return content
}
