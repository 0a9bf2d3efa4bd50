import type { PolicyRow, RunRow } from '../../../platform/db/tables/backups.ts'

export type RetainedRun = Pick<RunRow, 'id' | 'createdAt' | 'protected' | 'protectedUntil'>

const day = 86_400_000

/**
 * The successful runs of a policy that are due for pruning. `runs` are newest first. A run is kept while the count or the days
 * keep it; without either all are kept. Protected runs are kept and do not count. The newest run is always kept, and so is the
 * newest one that is not later than `now`: a run with a later time was made while the clock was ahead.
 */
export function runsToPrune<Run extends RetainedRun>(
  { retainCount, retainDays }: Pick<PolicyRow, 'retainCount' | 'retainDays'>,
  runs: readonly Run[],
  now: number,
): Run[] {
  const unprotected = runs.filter((run) => !isProtected(run, now))
  const newest = new Set([runs[0]?.id, runs.find(({ createdAt }) => createdAt <= now)?.id])
  if (retainCount === null && retainDays === null) return []
  return unprotected.filter((run, index) => {
    const isWithinCount = retainCount !== null && index < retainCount
    const isWithinDays = retainDays !== null && run.createdAt >= now - retainDays * day
    return !newest.has(run.id) && !isWithinCount && !isWithinDays
  })
}

export const isProtected = ({ protected: locked, protectedUntil }: RetainedRun, now: number): boolean =>
  locked === 1 && (protectedUntil === null || protectedUntil > now)
