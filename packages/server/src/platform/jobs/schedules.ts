import type { Selectable } from 'kysely'
import type { Db } from '../db/schema.ts'
import type { SchedulesTable } from '../db/tables/jobs.ts'
import type { JobKind } from './declare.ts'
import { InvalidRecurrence, nextOccurrence, type Recurrence } from './occurrences.ts'

export interface Schedule<Payload> {
  /** Unique key of the schedule, such as `backup-policy:bkp_…`. */
  key: string
  job: JobKind<Payload>
  payload: NoInfer<Payload>
  recurrence: Recurrence
}

export type ScheduleRow = Selectable<SchedulesTable>

/** Replaces the schedule if it changed; an unchanged one keeps its next time, so that a restart misses no run. */
export async function setSchedule<Payload>(db: Db, now: Date, schedule: Schedule<Payload>): Promise<{ nextRunAt: Date }> {
  const next = nextOccurrence(schedule.recurrence, now)
  if (!next) throw new InvalidRecurrence('cron', 'the cron expression never matches a future time')
  const { key, job, payload, recurrence } = schedule
  const content = {
    kind: job.kind,
    payload: JSON.stringify(payload ?? null),
    cron: 'cron' in recurrence ? recurrence.cron : null,
    timezone: 'cron' in recurrence ? (recurrence.timezone ?? null) : null,
    everySeconds: 'cron' in recurrence ? null : recurrence.everySeconds,
  }
  const existing = await findSchedule(db, key)
  if (existing && hasSameContent(existing, content)) return { nextRunAt: new Date(existing.nextRunAt) }
  const row = { key, ...content, nextRunAt: next.getTime() }
  await db
    .insertInto('schedules')
    .values(row)
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ ...content, nextRunAt: next.getTime() }))
    .execute()
  return { nextRunAt: next }
}

export async function removeSchedule(db: Db, key: string): Promise<void> {
  await db.deleteFrom('schedules').where('key', '=', key).execute()
}

export function findSchedule(db: Db, key: string): Promise<ScheduleRow | undefined> {
  return db.selectFrom('schedules').selectAll().where('key', '=', key).executeTakeFirst()
}

export function recurrenceOf(row: ScheduleRow): Recurrence {
  if (row.everySeconds !== null) return { everySeconds: row.everySeconds }
  return { cron: row.cron as string, timezone: row.timezone }
}

function hasSameContent(row: ScheduleRow, content: Omit<ScheduleRow, 'key' | 'nextRunAt'>): boolean {
  return (Object.keys(content) as (keyof typeof content)[]).every((name) => row[name] === content[name])
}
