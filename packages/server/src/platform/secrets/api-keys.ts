import { hkdfSync } from 'node:crypto'
import type { KeyRing } from './key-ring.ts'

/** Keys with which API processes prove themselves to the worker: one derived from each secret key, newest first. */
export const apiKeysOf = (ring: KeyRing): string[] =>
  ring.keys().map(({ key }) => Buffer.from(hkdfSync('sha256', key, '', 'berth api process', 24)).toString('base64url'))
