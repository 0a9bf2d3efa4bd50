import { type RunStatus, runStatuses, terminalRun } from '@berth/contract'
import type { Updateable } from 'kysely'
import type { RowSignal } from '../../../http/row-stream.ts'
import { iso } from '../../../platform/db/columns.ts'
import type { BackupRunsTable, RunRow } from '../../../platform/db/tables/backups.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { endOperation, lockProject } from '../../projects/index.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { cleanUpAfter } from './clean-up-kind.ts'
import { findRun, moveRunTo } from './run-store.ts'
import { runTopic } from './start-run.ts'
import { findNewestComplete } from './stored-run-store.ts'

/** The run was ended by another process or request: the worker has nothing left to do. */
export class RunIsOver extends Error {
  override readonly name = 'RunIsOver'
}

/** Changes a run's status; no other function does. Undefined when the transition is not allowed: a terminal status is final. */
export async function moveRun(
  id: string,
  to: RunStatus,
  transaction: TransactionContext,
  deps: BackupsDeps,
  changes: Updateable<BackupRunsTable> = {},
): Promise<RunRow | undefined> {
  const now = nowOf(deps)
  const ending = terminalRun.has(to) ? { finishedAt: now } : {}
  const { projectId } = (terminalRun.has(to) && (await findRun(transaction.db, id))) || {}
  if (projectId !== undefined) await lockProject(transaction, projectId)
  const run = await moveRunTo(transaction.db, id, to, { ...ending, ...changes, statusSince: now })
  if (run && terminalRun.has(to)) await endOperation(id, transaction)
  if (run) transaction.signal(runTopic(id), { transition: { status: to, at: iso(now) } } satisfies RowSignal)
  return run
}

/** Moves the run to its next step. After a crash the steps are repeated: a step that the run has passed changes nothing. */
export async function advanceRun(
  id: string,
  to: RunStatus,
  deps: BackupsDeps,
  changes: Updateable<BackupRunsTable> = {},
): Promise<RunRow> {
  return deps.database.transaction(async (transaction) => {
    const updated = await moveRun(id, to, transaction, deps, changes)
    if (updated) return updated
    const run = await findRun(transaction.db, id)
    if (!run || terminalRun.has(run.status)) throw new RunIsOver()
    if (runStatuses.indexOf(run.status) < runStatuses.indexOf(to)) throw new Error(`a run cannot go from ${run.status} to ${to}`)
    return run
  })
}

export interface RunEnding {
  status: 'failed' | 'cancelled' | 'server_error'
  code: string
  message: string
}

/** Ends a failed or cancelled run; its objects are removed afterwards, and a failure is announced. */
export async function endRun(
  id: string,
  { status, code, message }: RunEnding,
  transaction: TransactionContext,
  deps: BackupsDeps,
) {
  const run = await moveRun(id, status, transaction, deps, { errorCode: code, errorMessage: message })
  if (!run) return undefined
  await cleanUpAfter(run, transaction)
  if (status === 'cancelled') return run
  const lastGoodRun = await findNewestComplete(transaction.db, run)
  const lastGoodText = lastGoodRun
    ? `The last good backup is still available: run ${lastGoodRun.id} of ${iso(lastGoodRun.createdAt)}.`
    : 'There is no earlier successful backup.'
  await transaction.announce('backup.failed', {
    organizationId: run.organizationId,
    projectId: run.projectId,
    subject: `The backup of ${run.projectName} failed`,
    text: `${message}\n\n${lastGoodText} The run that failed is ${run.id}.`,
    data: { runId: run.id, policyId: run.policyId, trigger: run.trigger, code },
  })
  return run
}
