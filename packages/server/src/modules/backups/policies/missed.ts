import type { PolicyRow } from '../../../platform/db/tables/backups.ts'
import { lastOccurrence } from '../../../platform/jobs/occurrences.ts'
import { findAnyProject } from '../../projects/index.ts'
import type { BackupsDeps } from '../deps.ts'
import { type LastRun, lastRuns, scheduledPolicies } from '../policy-store.ts'

/** Grace period after the due time, longer than the runs of a thousand policies that are due in the same minute. */
const graceMs = 60 * 60_000

/** The check runs every five minutes; a longer gap means that the instance was down or the clock jumped. */
const maxGapMs = 30 * 60_000
/** Time after such a gap in which the schedules start missed runs and announce them themselves. */
const settlingMs = 10 * 60_000

/** Missed backups of an instance that has been up for a while; none right after a start or a clock jump. */
export function missedWatch(deps: Pick<BackupsDeps, 'database'>): (now: Date) => Promise<MissedBackup[]> {
  let [upSince, checkedAt] = [0, 0]
  return async (now) => {
    const gap = now.getTime() - checkedAt
    if (gap > maxGapMs || gap < 0) upSince = now.getTime()
    checkedAt = now.getTime()
    return checkedAt - upSince < settlingMs ? [] : missedBackups(now, deps)
  }
}

export interface MissedBackup {
  policyId: string
  organizationId: string
  projectId: string
  projectName: string
  dueAt: Date
}

/**
 * Dead-man check: policies that were due and have no run since, for any reason. It reads only policies and runs, so that a lost
 * or wrong schedule is noticed too.
 */
async function missedBackups(now: Date, { database: { db } }: Pick<BackupsDeps, 'database'>): Promise<MissedBackup[]> {
  const policies = await scheduledPolicies(db)
  const newest = await lastRuns(
    db,
    policies.map(({ id }) => id),
  )
  const missed = policies.flatMap((policy) => {
    const dueAt = dueBefore(policy, new Date(now.getTime() - graceMs))
    return dueAt && !isCovered(newest.get(policy.id), dueAt, now) ? [{ policy, dueAt }] : []
  })
  const result: MissedBackup[] = []
  for (const { policy, dueAt } of missed) {
    const { id: policyId, organizationId, projectId } = policy
    const project = await findAnyProject(db, projectId)
    if (project?.presence === 'here' && project.deletingSince === null)
      result.push({ policyId, organizationId, projectId, projectName: project.name, dueAt })
  }
  return result
}

/** The policy's last due time before `at`; null where the policy was created or changed after it. */
function dueBefore({ cronExpression, timezone, updatedAt }: PolicyRow, at: Date): Date | null {
  try {
    const dueAt = lastOccurrence({ cron: cronExpression as string, timezone }, at)
    return dueAt && dueAt.getTime() > updatedAt ? dueAt : null
  } catch {
    // A time zone can be removed from the database.
    return null
  }
}

/** An earlier run that is still working covers the due time too: its skipped schedule is announced separately. */
function isCovered(run: LastRun | undefined, dueAt: Date, now: Date): boolean {
  if (!run) return false
  if (run.status === 'queued') return run.createdAt > now.getTime() - graceMs
  return run.createdAt >= dueAt.getTime() || run.finishedAt === null || run.finishedAt >= dueAt.getTime()
}
