import type { CronJobRow } from '../../platform/db/tables/tasks.ts'
import { checkRecurrence, nextTimeOf } from '../../platform/jobs/check-recurrence.ts'
import type { JobKind } from '../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../platform/transaction.ts'

export interface DuePayload {
  cronJobId: string
}

/** Creates the run of a task that is due. */
export const dueKind: JobKind<DuePayload> = { kind: 'tasks.due' }

const keyOf = (cronJobId: string) => `cron-job:${cronJobId}`

type ScheduleFields = Pick<CronJobRow, 'schedule' | 'timezone'>

export const checkSchedule = ({ schedule, timezone }: ScheduleFields, now: Date): void =>
  checkRecurrence({ cron: schedule, timezone }, now, 'schedule')

export const nextRunAt = ({ schedule, timezone, enabled }: ScheduleFields & Pick<CronJobRow, 'enabled'>, now: Date) =>
  enabled ? nextTimeOf({ cron: schedule, timezone }, now) : null

/** Updates the stored schedule to the task, in the transaction that writes it. */
export async function reschedule(
  { id, enabled, schedule: cron, timezone }: CronJobRow,
  { schedule, unschedule }: TransactionContext,
): Promise<void> {
  if (enabled) await schedule({ key: keyOf(id), job: dueKind, payload: { cronJobId: id }, recurrence: { cron, timezone } })
  else await unschedule(keyOf(id))
}

export const unscheduleJob = ({ id }: Pick<CronJobRow, 'id'>, { unschedule }: TransactionContext): Promise<void> =>
  unschedule(keyOf(id))
