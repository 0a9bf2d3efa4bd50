import { hkdfSync } from 'node:crypto'
import type { KeyRing } from './key-ring.ts'

/** Keys with which the processes of an instance prove themselves to each other, newest first: one derived from each secret key. */
export interface ProcessKeys {
  /** An API process sends its key to the worker. */
  api: readonly string[]
  /** The edge sends the key that it received with its table. */
  edge: readonly string[]
}

export const processKeysOf = (ring: KeyRing): ProcessKeys => ({
  api: derived(ring, 'berth api process'),
  edge: derived(ring, 'berth edge'),
})

const derived = (ring: KeyRing, purpose: string): string[] =>
  ring.keys().map(({ key }) => Buffer.from(hkdfSync('sha256', key, '', purpose, 24)).toString('base64url'))
