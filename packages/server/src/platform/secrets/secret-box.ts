import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { findKey, type KeyRing, type SecretKey } from './key-ring.ts'
import { Secret } from './secret.ts'
import { isSigned, sign } from './signature.ts'

/** A ciphertext that does not open; the message says why and holds nothing of it. */
export class SecretBoxError extends Error {
  override name = 'SecretBoxError'
}

export interface SecretBox {
  /** `place` names where the result is kept (`env_vars:value:<row id>`): moved to another place, it does not open. */
  seal(value: string | Secret, path: string): string
  open(sealed: string, location: string): Secret
  /** True when an older key than the newest sealed it. */
  needsRotation(sealed: string): boolean
  /** The same value under the newest key. */
  reseal(sealed: string, place: string): string
  /** A proof that `message` comes from here; one made for a purpose proves nothing for another. */
  sign(message: string, purpose: string): string
  isSigned(signature: string, message: string, purpose: string): boolean
  /** Adds a key, which seals from then on; what is stored is to be resealed. */
  rotate(): void
}

/** AES-256-GCM; a sealed value is `v1.<key id>.<nonce>.<ciphertext and tag>` in base64url. */
export function createSecretBox(ring: KeyRing): SecretBox {
  const box: SecretBox = {
    seal: (value, path) => encrypt(ring.keys()[0]!, value instanceof Secret ? value.reveal() : value, path),
    open: (sealed, path) => {
      const parts = parse(sealed)
      return new Secret(decrypt(keyFor(parts.keyId, ring), parts, path))
    },
    needsRotation: (sealed) => parse(sealed).keyId !== ring.keys()[0]!.id,
    reseal: (sealed, path) => box.seal(box.open(sealed, path), path),
    sign: (message, purpose) => sign(ring.keys()[0]!, message, purpose),
    isSigned: (signature, message, purpose) => isSigned(ring, signature, message, purpose),
    rotate: () => void ring.rotate(),
  }
  return box
}

const nonceBytes = 12
const tagBytes = 16
const form = /^v1\.([0-9a-f]{8})\.([\w-]{16})\.([\w-]{22,})$/

interface Sealed {
  keyId: string
  nonce: Buffer
  body: Buffer
}

function parse(sealed: string): Sealed {
  const parts = form.exec(sealed)
  if (!parts) throw new SecretBoxError('A stored secret is damaged: its format is invalid')
  return { keyId: parts[1]!, nonce: Buffer.from(parts[2]!, 'base64url'), body: Buffer.from(parts[3]!, 'base64url') }
}

function keyFor(keyId: string, ring: KeyRing): SecretKey {
  const known = findKey(ring, keyId)
  if (known) return known
  const have = ring.keys().map(({ id }) => id)
  throw new SecretBoxError(
    `A stored secret needs key ${keyId}, but this instance has ${have.join(', ')}. Restore the BERTH_SECRET_KEY or secret-keys.json that encrypted it.`,
  )
}

function encrypt({ id, key }: SecretKey, value: string, path: string): string {
  if (!value.isWellFormed()) throw new SecretBoxError('The value is not valid Unicode: it contains an unpaired surrogate')
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes }).setAAD(context(id, path))
  const body = Buffer.concat([cipher.update(value, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return `v1.${id}.${nonce.toString('base64url')}.${body.toString('base64url')}`
}

function decrypt({ id, key }: SecretKey, { nonce, body }: Sealed, path: string): string {
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
    .setAAD(context(id, path))
    .setAuthTag(body.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(body.subarray(0, -tagBytes)), decipher.final()]).toString('utf8')
  } catch {
    throw new SecretBoxError(`A stored secret cannot be decrypted at ${path}: it was altered, or copied from another column`)
  }
}

function context(keyId: string, path: string): Buffer {
  return Buffer.from(`berth:v1:${keyId}:${path}`)
}
