import type { BundleFile } from '@berth/contract'
import { CliError } from '../../exit-codes.ts'

/** The first entry of a bundle file, unencrypted and without secrets. The second entry is the key; the others are the files. */
export interface BundleHead {
  format: 'berth-bundle/1'
  transfer: string
  project: string
  signer: string
  files: BundleFile[]
}

export const headName = 'bundle.json'
export const keyName = 'key.age'
export const maxHeadBytes = 64 * 1024 * 1024

export function readHead(text: string): BundleHead {
  try {
    const head = JSON.parse(text) as BundleHead
    if (head.format === 'berth-bundle/1' && Array.isArray(head.files)) return head
  } catch {
    // Reported below.
  }
  throw new CliError('This file is not a project bundle, or its version is not supported. Update berth and try again.')
}
