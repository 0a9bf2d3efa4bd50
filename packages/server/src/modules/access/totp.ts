import { createHmac, randomBytes } from 'node:crypto'
import { constantTimeEqual } from '../../platform/secrets/token.ts'

/** Time-based one-time passwords (RFC 6238) with the parameters that all authenticator apps support: SHA-1, 6 digits, 30 s. */

const stepMs = 30_000
const digits = 6
/** RFC 4226 recommends 160 bits. */
const secretBytes = 20
/** Steps before and after the current one whose codes are accepted: clocks differ, and a user needs time to type. */
const window = [-1, 0, 1]

/** A new secret in base32. */
export const newTotpSecret = (): string => base32Of(randomBytes(secretBytes))

/** The code of a time step. `length` differs from 6 only in the test vectors of the RFC. */
export function totpCode(secret: string, step: number, length = digits): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', bytesOfBase32(secret)).update(counter).digest()
  const offset = (mac.at(-1) as number) & 15
  const number = mac.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** length).padStart(length, '0')
}

export const totpStepAt = (now: number): number => Math.floor(now / stepMs)

/** The time step of a code that is valid now; null for a wrong code. */
export function stepOfTotpCode(secret: string, code: string, now: number): number | null {
  const steps = window.map((offset) => totpStepAt(now) + offset)
  return steps.findLast((step) => constantTimeEqual(totpCode(secret, step), code)) ?? null
}

/** The URI of a secret, which authenticator apps read from a QR code. */
export function totpUri(secret: string, { issuer, account }: { issuer: string; account: string }): string {
  const label = [issuer, account].map(encodeURIComponent).join(':')
  const parameters = new URLSearchParams({ secret, issuer, algorithm: 'SHA1', digits: String(digits), period: '30' })
  // Apps show a plus sign as it is, not as a space.
  return `otpauth://totp/${label}?${parameters.toString().replaceAll('+', '%20')}`
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4648 without padding. The length is a multiple of 5 bytes. */
function base32Of(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return bits.replace(/.{5}/g, (five) => alphabet[Number.parseInt(five, 2)] as string)
}

function bytesOfBase32(text: string): Buffer {
  const bits = [...text].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}
