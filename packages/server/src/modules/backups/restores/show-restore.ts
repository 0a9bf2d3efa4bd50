import { type BackupRestore, type RestoreTransition, terminalRestore } from '@berth/contract'
import { iso, isoOrNull } from '../../../platform/db/columns.ts'
import { restoreJson } from '../../../platform/db/json-columns/backups.ts'
import type { RestoreRow } from '../../../platform/db/tables/backups.ts'
import { copiesOf } from './copies.ts'

/**
 * The status that clients see. A restore that was cancelled while it wrote is `applying` until the previous data is back: a
 * terminal status means that nothing changes any more.
 */
const shownStatus = ({ status, finishedAt }: Pick<RestoreRow, 'status' | 'finishedAt'>): RestoreRow['status'] =>
  status === 'cancelled' && finishedAt === null ? 'applying' : status

/** Progress of a restore and its time, for the event stream. */
export const transitionOf = (row: RestoreRow): RestoreTransition => ({
  status: shownStatus(row),
  at: iso(Math.max(row.statusSince, row.verificationSince ?? 0)),
  verification: verificationOf(row),
})

/** A failed restore without a verified archive counts as failed verification; a cancelled one says nothing about its archive. */
const verificationOf = ({
  status,
  verification,
  verifiedBytes,
  verifyBytesTotal,
}: RestoreRow): BackupRestore['verification'] => ({
  status: finalVerification(status, verification),
  bytesDone: verifiedBytes,
  bytesTotal: verifyBytesTotal,
})

function finalVerification(status: RestoreRow['status'], verification: RestoreRow['verification']): RestoreRow['verification'] {
  if (!terminalRestore.has(status) || verification === 'passed' || verification === 'failed') return verification
  return status === 'cancelled' ? 'pending' : 'failed'
}

/** Shows a restore without the token and its hash. */
export const showRestore = (row: RestoreRow): BackupRestore => ({
  id: row.id,
  runId: row.runId,
  projectId: row.projectId,
  target: row.target,
  status: shownStatus(row),
  verification: verificationOf(row),
  report: restoreJson.report(row),
  bytesTotal: row.bytesTotal,
  bytesDone: row.bytesDone,
  preRestoreRunId: row.preRestoreRunId,
  volumes: copiesOf(row),
  dataState: row.dataState,
  error: row.errorCode === null ? null : { code: row.errorCode, message: row.errorMessage ?? '' },
  createdBy: row.createdBy,
  createdAt: iso(row.createdAt),
  startedAt: isoOrNull(row.startedAt),
  finishedAt: isoOrNull(row.finishedAt),
})
