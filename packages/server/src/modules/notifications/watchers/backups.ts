import type { MissedBackups } from '../watched.ts'
import { daysFrom } from './expiry.ts'
import type { Notice } from './once.ts'

/** Announces a missed backup once for each due time. */
export async function backupNotices(backups: MissedBackups, now: Date): Promise<Notice[]> {
  const missed = await backups.missed(now)
  return missed.map(({ policyId, organizationId, projectId, projectName, dueAt }) => ({
    keys: [`backup:${policyId}:${dueAt.getTime()}`],
    forgetAt: daysFrom(now, 90),
    category: 'backup.missed',
    event: {
      organizationId,
      projectId,
      subject: `The backup of ${projectName} is overdue`,
      text: `A backup of ${projectName} was due at ${dueAt.toISOString()} and did not start.`,
      data: { policyId, dueAt: dueAt.toISOString() },
    },
  }))
}
