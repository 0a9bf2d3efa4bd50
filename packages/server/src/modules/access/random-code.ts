import { randomBytes } from 'node:crypto'

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

/** Each character holds five random bits. */
export function randomCode(characters: number): string {
  let code = ''
  for (const byte of randomBytes(characters)) code += alphabet[byte & 31]
  return code
}
