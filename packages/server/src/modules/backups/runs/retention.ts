import type { PolicyRow, RunRow } from '../../../platform/db/tables/backups.ts'

export type Kept = Pick<RunRow, 'id' | 'createdAt' | 'protected' | 'protectedUntil'>

const day = 86_400_000

/**
 * Which good runs of a policy are to go. `runs` newest first. Protected ones never go and do not use up the count; the newest
 * one always stays, however old it is.
 */
export function runsToPrune<Run extends Kept>(
  { retainCount, retainDays }: Pick<PolicyRow, 'retainCount' | 'retainDays'>,
  runs: readonly Run[],
  now: number,
): Run[] {
  const free = runs.filter((run) => !isProtected(run, now))
  const newest = runs[0]
  return free.filter((run, at) => {
    if (run.id === newest?.id) return false
    const isOverCount = retainCount !== null && at >= retainCount
    const isTooOld = retainDays !== null && run.createdAt < now - retainDays * day
    return isOverCount || isTooOld
  })
}

export const isProtected = ({ protected: locked, protectedUntil }: Kept, now: number): boolean =>
  locked === 1 && (protectedUntil === null || protectedUntil > now)
