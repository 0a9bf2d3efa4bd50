import { StoreFailure } from '../../drivers/archive-store/store-failure.ts'
import { diskFullFailure } from '../../platform/disk-full.ts'
import { Failure } from '../../platform/failure.ts'

/** A failed transfer, for a reason that the project's owner can act on. */
export class TransferFailed extends Error {
  override readonly name = 'TransferFailed'
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Code and message of an expected error; undefined: an internal error, which may be retried. */
export function failureOf(error: unknown): { code: string; message: string } | undefined {
  if (error instanceof TransferFailed) return { code: error.code, message: error.message }
  if (error instanceof Failure) return { code: error.code, message: error.message }
  if (error instanceof StoreFailure && error.reason === 'corrupt') return { code: 'bundle_damaged', message: error.message }
  return diskFullFailure(error)
}
