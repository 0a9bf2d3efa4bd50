import type { JobKind } from '../../../platform/jobs/declare.ts'

/** Starts the scheduled backup of the instance. */
export const instanceBackupDue: JobKind<Record<string, never>> = { kind: 'backups.instance-due' }
/** Creates, stores and compares a backup of the instance. */
export const instanceBackup: JobKind<{ backupId: string }> = { kind: 'backups.instance' }
