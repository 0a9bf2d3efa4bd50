import type { PolicyRow } from '../../../platform/db/tables/backups.ts'
import { checkRecurrence, nextTimeOf } from '../../../platform/jobs/check-recurrence.ts'
import type { JobKind } from '../../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'

export interface SchedulePayload {
  policyId: string
}

/** Starts the run of a policy when it is due. */
export const scheduledRun: JobKind<SchedulePayload> = { kind: 'backups.scheduled' }
/** Restores the policy's newest successful run into a temporary location. */
export const trialRestore: JobKind<SchedulePayload> = { kind: 'backups.prove' }

export const runScheduleKey = (policyId: string) => `backup-policy:${policyId}`
export const trialScheduleKey = (policyId: string) => `backup-proof:${policyId}`

type ScheduleFields = Pick<PolicyRow, 'cronExpression' | 'timezone' | 'enabled'>

/** Responds 400 and names the field when the expression or the time zone is invalid, or the expression never matches. */
export const checkSchedule = ({ cronExpression, timezone }: Omit<ScheduleFields, 'enabled'>, now: Date): void =>
  checkRecurrence({ cron: cronExpression ?? '@daily', timezone }, now, 'cronExpression')

export const nextRunAt = ({ cronExpression, timezone, enabled }: ScheduleFields, now: Date): Date | null =>
  cronExpression && enabled ? nextTimeOf({ cron: cronExpression, timezone }, now) : null

/** Updates the stored schedules to the policy, in the transaction that writes it. */
export async function reschedule(policy: PolicyRow, { schedule, unschedule }: TransactionContext): Promise<void> {
  const { id, enabled, cronExpression, timezone, proveEveryDays } = policy
  const payload = { policyId: id }
  if (enabled && cronExpression)
    await schedule({ key: runScheduleKey(id), job: scheduledRun, payload, recurrence: { cron: cronExpression, timezone } })
  else await unschedule(runScheduleKey(id))
  if (enabled && proveEveryDays)
    await schedule({
      key: trialScheduleKey(id),
      job: trialRestore,
      payload,
      recurrence: { everySeconds: proveEveryDays * 86_400 },
    })
  else await unschedule(trialScheduleKey(id))
}

export async function unscheduleAll(policyId: string, { unschedule }: TransactionContext): Promise<void> {
  await unschedule(runScheduleKey(policyId))
  await unschedule(trialScheduleKey(policyId))
}
