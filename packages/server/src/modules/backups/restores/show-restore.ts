import type { BackupRestore } from '@berth/contract'
import { iso, isoOrNull } from '../../../platform/db/columns.ts'
import type { RestoreRow } from '../../../platform/db/tables/backups.ts'

/** Never the token, nor its hash. */
export const showRestore = (row: RestoreRow): BackupRestore => ({
  id: row.id,
  runId: row.runId,
  projectId: row.projectId,
  target: row.target,
  status: row.status,
  verification: { status: row.verification, bytesDone: row.verifiedBytes, bytesTotal: row.verifyBytesTotal },
  report: row.report === null ? null : JSON.parse(row.report),
  bytesTotal: row.bytesTotal,
  bytesDone: row.bytesDone,
  preRestoreRunId: row.preRestoreRunId,
  dataState: row.dataState,
  error: row.errorCode === null ? null : { code: row.errorCode, message: row.errorMessage ?? '' },
  createdBy: row.createdBy,
  createdAt: iso(row.createdAt),
  startedAt: isoOrNull(row.startedAt),
  finishedAt: isoOrNull(row.finishedAt),
})
