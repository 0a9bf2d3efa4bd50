import type { InstanceBackupPolicy, InstanceBackupPolicyBody } from '@berth/contract'
import type { Caller } from '../../../http/handler.ts'
import { iso } from '../../../platform/db/columns.ts'
import type { InstanceBackupPolicyRow } from '../../../platform/db/tables/backups.ts'
import { fail } from '../../../platform/failure.ts'
import { nextTimeOf } from '../../../platform/jobs/check-recurrence.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { findDestinationOf } from '../destinations/destination-store.ts'
import { checkSchedule } from '../policies/policy-schedule.ts'
import { instanceBackupDue } from './instance-backup-kinds.ts'
import { findInstancePolicy, removeInstancePolicy, saveInstancePolicy } from './instance-backup-store.ts'

const defaults = { cronExpression: '0 2 * * *', timezone: 'UTC', retainCount: 7, content: 'everything' } as const

/** Fields that the body does not name keep their value, or get the default. */
export async function saveInstanceSchedule(
  body: InstanceBackupPolicyBody,
  { organizationId }: Caller,
  deps: BackupsDeps,
): Promise<InstanceBackupPolicyRow> {
  // The key is generated now, while a user sets up backups: the log says where it is.
  await deps.archives()
  return deps.database.transaction(async (transaction) => {
    const { db, lock, schedule } = transaction
    await lock(instanceBackupDue.kind)
    if (!(await findDestinationOf(db, organizationId, body.destinationId)))
      fail('not_found', {
        field: 'destinationId',
        message: 'This backup destination does not exist. Name one of the organisation.',
      })
    const current = await findInstancePolicy(db)
    const { cronExpression, timezone, retainCount, content } = { ...defaults, ...current, ...body }
    checkSchedule({ cronExpression, timezone }, deps.clock.now())
    const policy = await saveInstancePolicy(db, {
      organizationId,
      destinationId: body.destinationId,
      cronExpression,
      timezone,
      retainCount,
      content,
      updatedAt: nowOf(deps),
    })
    const recurrence = { cron: cronExpression, timezone }
    await schedule({ key: instanceBackupDue.kind, job: instanceBackupDue, payload: {}, recurrence })
    return policy
  })
}

export const removeInstanceSchedule = (deps: BackupsDeps): Promise<void> =>
  deps.database.transaction(async ({ db, lock, unschedule }) => {
    await lock(instanceBackupDue.kind)
    if (!(await findInstancePolicy(db))) fail('not_found', { message: 'The instance has no backup schedule' })
    await removeInstancePolicy(db)
    await unschedule(instanceBackupDue.kind)
  })

export const showInstancePolicy = (row: InstanceBackupPolicyRow, now: Date): InstanceBackupPolicy => ({
  destinationId: row.destinationId,
  cronExpression: row.cronExpression,
  timezone: row.timezone,
  retainCount: row.retainCount,
  content: row.content,
  nextRunAt: nextTimeOf({ cron: row.cronExpression, timezone: row.timezone }, now)?.toISOString() ?? null,
  updatedAt: iso(row.updatedAt),
})
