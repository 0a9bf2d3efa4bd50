import type { Stanza } from 'age-encryption'

/** Limit of a header; Berth's own are much shorter. */
const maxHeaderLength = 16 * 1024
const endMark = Buffer.from('\n--- ')

export interface AgeHeader {
  header: Uint8Array
  fileKey: Uint8Array
}

/** The header of an age file for these recipients, and the key of the payload that follows it. */
export async function makeHeader(recipients: readonly string[]): Promise<AgeHeader> {
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  for (const recipient of recipients) encrypter.addRecipient(recipient)
  let fileKey: Uint8Array | undefined
  // Receives the key as a recipient does, and adds nothing to the header.
  encrypter.addRecipient({
    wrapFileKey(key): Stanza[] {
      fileKey = Uint8Array.from(key)
      return []
    },
  })
  const whole = await encrypter.encrypt(new Uint8Array())
  const length = headerLength(Buffer.from(whole.buffer, whole.byteOffset, whole.length))
  if (!fileKey || length === undefined) throw new Error('The age library made no header')
  return { header: whole.subarray(0, length), fileKey }
}

/** Length of the header in bytes; undefined when more bytes are needed. Throws when the bytes are not a header. */
export function headerLength(start: Buffer): number | undefined {
  const magic = 'age-encryption.org/v1\n'
  if (!magic.startsWith(start.toString('latin1', 0, Math.min(start.length, magic.length))))
    throw new InvalidAgeFile('is not an age file')
  const mark = start.indexOf(endMark)
  const end = mark === -1 ? -1 : start.indexOf('\n', mark + endMark.length)
  if (end !== -1 && end < maxHeaderLength) return end + 1
  if (start.length >= maxHeaderLength) throw new InvalidAgeFile('has an age header that is too long')
  return undefined
}

/** The key of the payload. Rejects with `InvalidAgeFile` when none of the identities can decrypt it. */
export async function openHeader(header: Uint8Array, identities: readonly string[]): Promise<Uint8Array> {
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  for (const identity of identities) decrypter.addIdentity(identity)
  try {
    return await decrypter.decryptHeader(header)
  } catch (cause) {
    throw new InvalidAgeFile('was encrypted with another key, or its header was changed', { cause })
  }
}

/** The message continues after "This file". */
export class InvalidAgeFile extends Error {
  override readonly name = 'InvalidAgeFile'
}
