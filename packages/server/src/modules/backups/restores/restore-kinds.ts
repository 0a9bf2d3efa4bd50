import { sharedKind } from '../../../platform/jobs/declare.ts'

export interface RestorePayload {
  restoreId: string
}

/** Fetches, decrypts and checks the archive, and computes the changes that applying it would make. */
export const verifyRestore = sharedKind<RestorePayload>('backups.verify')
/** Writes the archive over the data. */
export const applyRestore = sharedKind<RestorePayload>('backups.apply')
export interface SettlePayload extends RestorePayload {
  /** The project is being deleted with its volumes: nothing is put back. */
  isAbandoned?: true
  /** The restore used up its attempts, and ends when this job is done. */
  isEnding?: true
}

/** Runs after a cancel or a last attempt: puts replaced data back, and starts the stopped project. */
export const settleRestore = sharedKind<SettlePayload>('backups.settle')

export const verifyJobKey = (restoreId: string) => `${verifyRestore.kind}:${restoreId}`
export const applyJobKey = (restoreId: string) => `${applyRestore.kind}:${restoreId}`
