import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { findKey, type KeyRing, type SecretKey } from './key-ring.ts'
import { Secret } from './secret.ts'
import { isSigned, sign } from './signature.ts'

/** A ciphertext that cannot be decrypted. The message states the reason and contains nothing of the secret. */
export class SecretBoxError extends Error {
  override name = 'SecretBoxError'
}

export interface SecretBox {
  /** `location` names where the result is stored (`env_vars:value:<row id>`): moved to another location, it cannot be decrypted. */
  seal(value: string | Secret, location: string): string
  open(sealed: string, location: string): Secret
  /** True if an older key than the newest encrypted the value. */
  needsRotation(sealed: string): boolean
  /** Encrypts the same value with the newest key. */
  reseal(sealed: string, location: string): string
  /** A signature of `message`; it is valid only for its purpose. */
  sign(message: string, purpose: string): string
  isSigned(signature: string, message: string, purpose: string): boolean
  /** Adds a key, which encrypts from then on; stored values must be resealed. */
  rotate(): void
}

/** AES-256-GCM; a sealed value is `v1.<key id>.<nonce>.<ciphertext and tag>` in base64url. */
export function createSecretBox(ring: KeyRing): SecretBox {
  const box: SecretBox = {
    seal: (value, location) => encrypt(ring.keys()[0]!, value instanceof Secret ? value.reveal() : value, location),
    open: (sealed, location) => {
      const parts = parse(sealed)
      return new Secret(decrypt(keyFor(parts.keyId, ring), parts, location))
    },
    needsRotation: (sealed) => parse(sealed).keyId !== ring.keys()[0]!.id,
    reseal: (sealed, location) => box.seal(box.open(sealed, location), location),
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
  const key = findKey(ring, keyId)
  if (key) return key
  const keyIds = ring.keys().map(({ id }) => id)
  throw new SecretBoxError(
    `A stored secret needs key ${keyId}, but this instance has ${keyIds.join(', ')}. Restore the BERTH_SECRET_KEY or secret-keys.json that encrypted it.`,
  )
}

function encrypt({ id, key }: SecretKey, value: string, location: string): string {
  if (!value.isWellFormed()) throw new SecretBoxError('The value is not valid Unicode: it contains an unpaired surrogate')
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes }).setAAD(context(id, location))
  const body = Buffer.concat([cipher.update(value, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return `v1.${id}.${nonce.toString('base64url')}.${body.toString('base64url')}`
}

function decrypt({ id, key }: SecretKey, { nonce, body }: Sealed, location: string): string {
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
    .setAAD(context(id, location))
    .setAuthTag(body.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(body.subarray(0, -tagBytes)), decipher.final()]).toString('utf8')
  } catch {
    throw new SecretBoxError(`A stored secret cannot be decrypted at ${location}: it was altered, or copied from another column`)
  }
}

function context(keyId: string, location: string): Buffer {
  return Buffer.from(`berth:v1:${keyId}:${location}`)
}
