import type { PolicyRow } from '../../../platform/db/tables/backups.ts'
import { Failure } from '../../../platform/failure.ts'
import { job } from '../../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { findAnyProject } from '../../projects/index.ts'
import type { BackupsDeps } from '../deps.ts'
import { findPolicy } from '../policy-store.ts'
import { startOrJoin } from '../runs/start-run.ts'
import { type SchedulePayload, scheduledRun } from './policy-schedule.ts'

/**
 * Starts the run of a policy that is due. Times that passed while the instance was down are made up for by one run, with a
 * notification.
 */
export const scheduledJob = (deps: BackupsDeps) =>
  job<SchedulePayload, unknown>(scheduledRun.kind, {
    deadlineMs: 60_000,
    run: ({ policyId }, _, __, { scheduledFor }) => start(policyId, scheduledFor ? [scheduledFor] : [], false, deps),
    onMissed: ({ policyId }, missed) => start(policyId, missed, true, deps),
  })

async function start(policyId: string, times: readonly Date[], wasMissed: boolean, deps: BackupsDeps): Promise<void> {
  await deps.database
    .transaction(async (transaction) => {
      const policy = await findPolicy(transaction.db, policyId)
      if (!policy?.enabled) return
      const { isNew, run } = await startOrJoin(policyId, { trigger: 'schedule', createdBy: null }, transaction, deps)
      if (wasMissed) await notify(policy, times, 'The instance was not running at that time, so one run starts now.', transaction)
      else if (!isNew) await notify(policy, times, `The previous run, ${run.id}, is still running.`, transaction)
    })
    .catch((error: unknown) => {
      // The project is being deleted, and its policies with it.
      if (!(error instanceof Failure)) throw error
    })
}

async function notify(policy: PolicyRow, times: readonly Date[], reason: string, transaction: TransactionContext): Promise<void> {
  const project = await findAnyProject(transaction.db, policy.projectId)
  const [first] = times
  const name = project?.name ?? policy.projectId
  const when = times.length > 1 ? `${times.length} times since ${first?.toISOString()}` : `at ${first?.toISOString()}`
  await transaction.announce('backup.missed', {
    organizationId: policy.organizationId,
    projectId: policy.projectId,
    subject: `A backup of ${name} is late`,
    text: `A backup of ${name} was due ${when}. ${reason}`,
    data: { policyId: policy.id, dueAt: times.map((time) => time.toISOString()).slice(0, 20) },
  })
}
