import { createHmac, hkdfSync } from 'node:crypto'
import { findKey, type KeyRing, type SecretKey } from './key-ring.ts'
import { constantTimeEqual } from './token.ts'

/** HMAC-SHA-256; `<key id>.<base64url>`. It contains its key id, so that it stays valid after a newer key is added. */
export function sign({ id, key }: SecretKey, message: string, purpose: string): string {
  // A derived key: a public signature must reveal nothing about the key that encrypts secrets.
  const derived = hkdfSync('sha256', key, '', `berth:v1:sign:${purpose}`, 32)
  return `${id}.${createHmac('sha256', Buffer.from(derived)).update(message).digest('base64url')}`
}

export function isSigned(ring: KeyRing, signature: string, message: string, purpose: string): boolean {
  const keyId = form.exec(signature)?.[1]
  const key = keyId === undefined ? undefined : findKey(ring, keyId)
  return key !== undefined && constantTimeEqual(signature, sign(key, message, purpose))
}

const form = /^([0-9a-f]{8})\.[\w-]{43}$/
