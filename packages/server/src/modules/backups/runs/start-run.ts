import { iso } from '../../../platform/db/columns.ts'
import type { PolicyRow, RunRow } from '../../../platform/db/tables/backups.ts'
import { fail } from '../../../platform/failure.ts'
import { sharedKind } from '../../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { beginOperation, findAnyProject, lockProject, refuseOperation } from '../../projects/index.ts'
import type { BackupsDeps } from '../deps.ts'
import { findPolicy } from '../policy-store.ts'
import { groupOf } from './clean-up-kind.ts'
import { newRun, type RunRequest } from './new-run.ts'
import { findUnfinished, insertRun } from './run-store.ts'

export interface RunPayload {
  runId: string
}

export const backUp = sharedKind<RunPayload>('backups.run')
export const runJobKey = (runId: string) => `${backUp.kind}:${runId}`

export const runTopic = (runId: string) => `backup-run:${runId}`

/** Queues a run of the policy, behind one that is under way. Refused while the project is being restored, moved or deleted. */
export const startRun = (policyId: string, request: RunRequest, deps: BackupsDeps): Promise<RunRow> =>
  deps.database.transaction((transaction) => startOrQueue(policyId, request, transaction, deps))

/** The run that is under way, if there is one; else a new one. */
export async function startOrJoin(
  policyId: string,
  request: RunRequest,
  transaction: TransactionContext,
  deps: BackupsDeps,
): Promise<{ run: RunRow; isNew: boolean }> {
  const policy = (await findPolicy(transaction.db, policyId)) ?? fail('not_found')
  await lockProject(transaction, policy.projectId)
  const existing = await findUnfinished(transaction.db, policyId)
  if (!existing) return { run: await queueRun(policy, request, transaction, deps), isNew: true }
  if (existing.status === 'queued') await enqueueRun(existing, request.trigger, transaction)
  return { run: existing, isNew: false }
}

/** The policy's queued run, if there is one; else a new one, behind the run that is under way. */
export async function startOrQueue(
  policyId: string,
  request: RunRequest,
  transaction: TransactionContext,
  deps: BackupsDeps,
): Promise<RunRow> {
  const policy = (await findPolicy(transaction.db, policyId)) ?? fail('not_found')
  await lockProject(transaction, policy.projectId)
  const queued = await findUnfinished(transaction.db, policyId, ['queued'])
  if (!queued) return queueRun(policy, request, transaction, deps)
  await enqueueRun(queued, request.trigger, transaction)
  return queued
}

/** Queues a run. Runs of one project wait for each other: they would read the same data, and their commands would conflict. */
export async function queueRun(
  policy: PolicyRow,
  request: RunRequest,
  transaction: TransactionContext,
  deps: BackupsDeps,
): Promise<RunRow> {
  const project = (await findAnyProject(transaction.db, policy.projectId)) ?? fail('not_found')
  if (project.presence !== 'here' && project.presence !== 'departing')
    fail('conflict', { message: 'The project was transferred to another instance. Its backups run there.' })
  const requested = operationOf(policy, request)
  await refuseOperation(requested, transaction, deps)
  const run = await insertRun(
    transaction.db,
    newRun({ ...policy, policyId: policy.id, projectName: project.name }, request, deps),
  )
  if (!run) return fail('work_in_progress', { message: 'A run of this policy is in progress. Wait until it ends.' })
  // The run before a deployment is part of the deployment's operation.
  const isWaiting =
    request.trigger !== 'pre_deploy' && (await beginOperation({ ...requested, subjectId: run.id }, transaction, deps)).isWaiting
  if (!isWaiting) await enqueueRun(run, request.trigger, transaction)
  transaction.signal(runTopic(run.id), { transition: { status: run.status, at: iso(run.statusSince) } })
  return run
}

/** A backup saves the data of production. */
const operationOf = ({ projectId }: PolicyRow, { trigger }: RunRequest) => ({
  projectId,
  environment: 'production',
  kind: 'backup' as const,
  isAutomatic: trigger !== 'manual',
})

/** Enqueues the job of a run. With another trigger than `schedule` it precedes all scheduled runs, also if it was one of them. */
export function enqueueRun(
  { id, projectId, organizationId }: RunRow,
  trigger: RunRequest['trigger'],
  transaction: TransactionContext,
) {
  return transaction.enqueue(
    backUp.of({ organizationId }),
    { runId: id },
    { uniqueKey: runJobKey(id), groupKey: groupOf(projectId), priority: trigger === 'schedule' ? -1 : 0 },
  )
}
