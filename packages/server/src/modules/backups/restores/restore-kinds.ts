import type { JobKind } from '../../../platform/jobs/declare.ts'

export interface RestorePayload {
  restoreId: string
}

/** Fetches, decrypts and checks the archive, and finds out what applying it would change. */
export const verifyRestore: JobKind<RestorePayload> = { kind: 'backups.verify' }
/** Writes it over the data. */
export const applyRestore: JobKind<RestorePayload> = { kind: 'backups.apply' }
/** After a cancel: puts back what was replaced, and starts what was stopped. */
export const settleRestore: JobKind<RestorePayload> = { kind: 'backups.settle' }

export const verifyJobKey = (restoreId: string) => `${verifyRestore.kind}:${restoreId}`
export const applyJobKey = (restoreId: string) => `${applyRestore.kind}:${restoreId}`
