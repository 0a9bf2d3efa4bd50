import { InstanceBackupRefused } from '../../drivers/archive/instance-backup-refused.ts'
import { KeyUnusable } from '../../drivers/archive/instance-key.ts'
import { StoreFailure } from '../../drivers/archive-store/store-failure.ts'
import { StartFailed, VolumeUnreadable } from '../../drivers/runtime/runtime-errors.ts'
import { diskFullFailure } from '../../platform/disk-full.ts'
import { errorMessage } from '../../platform/error-message.ts'
import { ArchiveDiffers } from './instance-archive.ts'

/** A failure of a run or restore that a user can act on; the message says what happened. */
export class BackupFailed extends Error {
  override readonly name = 'BackupFailed'
  readonly code: string

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** Code and message of an expected error; undefined: an internal error, which is retried. */
export function failureOf(error: unknown): { code: string; message: string } | undefined {
  if (error instanceof BackupFailed) return { code: error.code, message: error.message }
  if (error instanceof StoreFailure) return { code: `destination_${error.reason}`, message: error.message }
  if (error instanceof KeyUnusable) return { code: 'key_unusable', message: error.message }
  if (error instanceof VolumeUnreadable) return { code: 'volume_unreadable', message: error.message }
  if (error instanceof StartFailed) return { code: 'not_running', message: error.message }
  if (error instanceof ArchiveDiffers) return { code: 'destination_corrupt', message: error.message }
  if (error instanceof InstanceBackupRefused) return { code: 'archive_refused', message: error.message }
  return diskFullFailure(error)
}

export const errorText = (error: unknown): string => errorMessage(error).slice(0, 2_000)

/** Message for an internal error: its own message may name a table or a path, and is only logged. */
export const internalText = 'Internal error. The log of the instance has the details.'
