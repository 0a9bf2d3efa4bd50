import { sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Millis } from '../db/columns.ts'
import type { Db } from '../db/schema.ts'
import { InvalidRecurrence, nextOccurrence } from '../jobs/occurrences.ts'
import { recurrenceOf, type ScheduleRow } from '../jobs/schedules.ts'
import { isQueued } from '../jobs/statuses.ts'

/** Corrects schedules whose next run is later than their next occurrence: it was computed while the clock was ahead. */
export async function recomputeSchedules({ db }: Pick<Database, 'db'>, now: Date): Promise<number> {
  let recomputed = 0
  const rows = await db.selectFrom('schedules').selectAll().where('nextRunAt', '>', now.getTime()).execute()
  for (const row of rows) {
    const nextRunAt = latestNext(row, now)
    if (nextRunAt !== null && nextRunAt < row.nextRunAt && (await moveBack(db, row, nextRunAt))) recomputed++
  }
  return recomputed
}

/** The latest possible next run of the schedule; null if it is unknown. */
function latestNext(row: ScheduleRow, now: Date): Millis | null {
  if (row.everySeconds !== null) {
    const intervalMs = row.everySeconds * 1000
    const excessIntervals = Math.ceil((row.nextRunAt - now.getTime()) / intervalMs) - 1
    return row.nextRunAt - Math.max(0, excessIntervals) * intervalMs
  }
  try {
    return nextOccurrence(recurrenceOf(row), now)?.getTime() ?? null
  } catch (error) {
    if (error instanceof InvalidRecurrence) return null
    throw error
  }
}

async function moveBack(db: Db, { key, nextRunAt: from }: ScheduleRow, nextRunAt: Millis): Promise<boolean> {
  const moved = await db
    .updateTable('schedules')
    .set({ nextRunAt })
    .where('key', '=', key)
    .where('nextRunAt', '=', from)
    .returning('key')
    .executeTakeFirst()
  return moved !== undefined
}

/**
 * Reschedules jobs that were delayed while the clock was ahead by `aheadMs`: retries, and jobs for a later time. Each job keeps
 * its delay.
 */
export async function shiftJobs({ db }: Pick<Database, 'db'>, now: Date, aheadMs: Millis, toleranceMs: Millis): Promise<void> {
  const at = now.getTime()
  await db
    .updateTable('jobs')
    .set({ runAt: sql<Millis>`${at} + "runAt" - "createdAt"`, createdAt: at })
    .where('status', '=', isQueued)
    .where('createdAt', '>', at + toleranceMs)
    .whereRef('runAt', '>=', 'createdAt')
    .execute()
  await db
    .updateTable('jobs')
    .set({ runAt: sql<Millis>`"runAt" - cast(${aheadMs} as bigint)` })
    .where('status', '=', isQueued)
    .where('runAt', '>=', at + aheadMs - toleranceMs)
    .execute()
}
