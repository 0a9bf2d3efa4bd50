import type { PolicyRow } from '../../../platform/db/tables/backups.ts'
import { lastOccurrence } from '../../../platform/jobs/occurrences.ts'
import { findAnyProject } from '../../projects/index.ts'
import type { BackupsDeps } from '../deps.ts'
import { type LastRun, lastRuns, scheduledPolicies } from './policy-store.ts'

/** A thousand policies that are due in the same minute are through long before. */
const graceMs = 60 * 60_000

/** The watcher looks every five minutes; a longer gap means that the instance was down or the clock jumped. */
const longestGapMs = 30 * 60_000
/** After such a gap the schedules make up for what was missed, and announce it themselves. */
const settleMs = 10 * 60_000

/** The missed backups of an instance that has been up for a while; none after a start or a jump of the clock. */
export function missedWatch(deps: Pick<BackupsDeps, 'database'>): (now: Date) => Promise<MissedBackup[]> {
  let [since, lookedAt] = [0, 0]
  return async (now) => {
    const gap = now.getTime() - lookedAt
    if (gap > longestGapMs || gap < 0) since = now.getTime()
    lookedAt = now.getTime()
    return lookedAt - since < settleMs ? [] : missedBackups(now, deps)
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
 * Policies whose last time has passed without a run that began, for whatever reason: the dead-man check. It reads policies and runs
 * alone, so that a lost or displaced schedule is noticed too.
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
  const found: MissedBackup[] = []
  for (const { policy, dueAt } of missed) {
    const { id: policyId, organizationId, projectId } = policy
    const project = await findAnyProject(db, projectId)
    if (project?.presence === 'here' && project.deletingSince === null)
      found.push({ policyId, organizationId, projectId, projectName: project.name, dueAt })
  }
  return found
}

/** The policy's last time before `at`; null where it was made or changed after it. */
function dueBefore({ cronExpression, timezone, updatedAt }: PolicyRow, at: Date): Date | null {
  try {
    const dueAt = lastOccurrence({ cron: cronExpression as string, timezone }, at)
    return dueAt && dueAt.getTime() > updatedAt ? dueAt : null
  } catch {
    // A time zone can be abolished.
    return null
  }
}

/** A run of before that is still at work covers the time too: that the time was skipped is announced when it comes. */
function isCovered(run: LastRun | undefined, dueAt: Date, now: Date): boolean {
  if (!run) return false
  if (run.status === 'queued') return run.createdAt > now.getTime() - graceMs
  return run.createdAt >= dueAt.getTime() || run.finishedAt === null || run.finishedAt >= dueAt.getTime()
}
