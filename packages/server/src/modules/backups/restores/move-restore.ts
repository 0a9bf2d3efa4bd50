import { type RestoreStatus, type RestoreTransition, terminalRestore } from '@berth/contract'
import type { Updateable } from 'kysely'
import type { RowSignal } from '../../../http/row-stream.ts'
import type { BackupRestoresTable, RestoreRow } from '../../../platform/db/tables/backups.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { endOperation, findAnyProject, lockProject } from '../../projects/index.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { endSafetyRun } from '../runs/safety-run.ts'
import { findRestore, moveRestoreTo } from './restore-store.ts'
import { transitionOf } from './show-restore.ts'

export const restoreTopic = (restoreId: string) => `backup-restore:${restoreId}`

/** The restore was ended by another process or request. */
export class RestoreIsOver extends Error {
  override readonly name = 'RestoreIsOver'
}

/**
 * Changes a restore's status; no other function does. Returns undefined when the transition is not allowed: a terminal status is
 * final. Ending a restore also ends its unfinished safety run.
 */
export async function moveRestore(
  id: string,
  to: RestoreStatus,
  transaction: TransactionContext,
  deps: BackupsDeps,
  changes: Updateable<BackupRestoresTable> = {},
): Promise<RestoreRow | undefined> {
  // The project's lock is taken before any of its rows, as everywhere, which prevents deadlocks.
  const { projectId } = (await findRestore(transaction.db, id)) ?? {}
  if (projectId === undefined) return undefined
  await lockProject(transaction, projectId)
  const now = nowOf(deps)
  const isTerminal = terminalRestore.has(to)
  const ending = isTerminal ? { finishedAt: now } : {}
  const restore = await moveRestoreTo(transaction.db, id, to, { ...ending, ...changes, statusSince: now })
  if (!restore) return undefined
  signalRestore(restore, transaction)
  if (isTerminal) await endSafetyRun(restore, transaction, deps)
  // After a cancel the old data is put back first; `settle` ends the operation.
  if (isTerminal && to !== 'cancelled') await endOperation(id, transaction)
  return restore
}

export const signalRestore = (restore: RestoreRow, { signal }: Pick<TransactionContext, 'signal'>): void =>
  signal(restoreTopic(restore.id), { transition: transitionOf(restore) } satisfies RowSignal<RestoreTransition>)

export interface RestoreEnding {
  status: 'failed' | 'server_error'
  code: string
  message: string
  dataState: RestoreRow['dataState']
  /** Set where the archive proved unusable. */
  verification?: 'failed'
}

const dataStateTexts: Record<RestoreRow['dataState'], string> = {
  untouched: 'The project was not changed.',
  undone: 'The previous data was put back.',
  partly_written: 'Part of the data was replaced and could not be rolled back. Restore the safety run manually.',
  restored: 'The data was restored from the backup.',
}

/** Ends the restore, records the state of the data, and sends a notification. */
export async function endRestore(id: string, ending: RestoreEnding, deps: BackupsDeps) {
  const { status, code, message, dataState, verification } = ending
  const verificationColumns = verification ? { verification, verificationSince: nowOf(deps) } : {}
  return deps.database.transaction(async (transaction) => {
    const restore = await moveRestore(id, status, transaction, deps, {
      errorCode: code,
      errorMessage: message,
      dataState,
      ...verificationColumns,
    })
    if (!restore) return undefined
    await notify(restore, `${message}\n\n${dataStateTexts[dataState]}`, 'restore.failed', transaction)
    return restore
  })
}

/** Notification for a restore that was cancelled after it had begun to write. */
export const notifyCancelled = (restore: RestoreRow, transaction: TransactionContext): Promise<void> =>
  notify(
    restore,
    `${restore.errorMessage ?? 'The restore was cancelled'}.\n\n${dataStateTexts[restore.dataState]}`,
    'restore.failed',
    transaction,
  )

const subjects = {
  completed: (name: string) => `${name} was restored`,
  cancelled: (name: string) => `Restoring ${name} was cancelled`,
  failed: (name: string) => `Restoring ${name} failed`,
}

export async function notify(
  { id, organizationId, projectId, runId, preRestoreRunId, status }: RestoreRow,
  text: string,
  category: 'restore.completed' | 'restore.failed',
  transaction: TransactionContext,
): Promise<void> {
  const project = await findAnyProject(transaction.db, projectId)
  const name = project?.name ?? projectId
  await transaction.announce(category, {
    organizationId,
    projectId,
    subject: subjects[category === 'restore.completed' ? 'completed' : status === 'cancelled' ? 'cancelled' : 'failed'](name),
    text,
    data: { restoreId: id, runId, preRestoreRunId },
  })
}
