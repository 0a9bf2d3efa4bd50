import type { InstanceBackupContent } from '@berth/contract'

/** The archive of the whole instance, one encrypted file. */
export interface InstanceArchive {
  /** Creates the archive while the instance runs; rejects with `InstanceBackupRefused` if this machine cannot. */
  open(content: InstanceBackupContent, abort: AbortSignal): Promise<OpenInstanceArchive>
}

export interface OpenInstanceArchive {
  /** The bytes of the archive; may be read once. */
  read(): AsyncIterable<Uint8Array>
  /** Decrypts the stored bytes to their end and compares all of them with those that were read. */
  compare(stored: AsyncIterable<Uint8Array>): Promise<void>
  close(): Promise<void>
}

/** The stored archive differs from the one that was sent, or cannot be read. */
export class ArchiveDiffers extends Error {
  override readonly name = 'ArchiveDiffers'
}
