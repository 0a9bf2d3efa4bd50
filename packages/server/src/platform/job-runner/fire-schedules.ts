import type { Database } from '../database.ts'
import { scheduleJson } from '../db/json-columns/jobs.ts'
import { type Job, type JobKind, job } from '../jobs/declare.ts'
import { InvalidRecurrence, nextOccurrence, occurrencesUntil } from '../jobs/occurrences.ts'
import { recurrenceOf, type ScheduleRow } from '../jobs/schedules.ts'
import type { Log } from '../log.ts'
import type { TransactionContext } from '../transaction.ts'

/** Schedules started per batch when many are due in the same minute; other jobs and requests run between the batches. */
const batchSize = 10
/** A schedule that is later than this was missed: no control plane was running at the time. */
const missedAfterMs = 60_000

interface MissedTimes {
  kind: string
  payload: unknown
  missed: number[]
}

const missedKind: JobKind<MissedTimes> = { kind: 'jobs.missed' }

/** Passes missed times to the module; a separate job, so that a crash loses none. */
export function missedJob<Deps>(jobs: ReadonlyMap<string, Job<unknown, Deps>>): Job<MissedTimes, Deps> {
  return job<MissedTimes, Deps>(missedKind.kind, {
    deadlineMs: 60_000,
    async run({ kind, payload, missed }, deps) {
      const times = missed.map((time) => new Date(time))
      await jobs.get(kind)?.onMissed?.(payload, times, deps)
    },
  })
}

export interface Firing {
  now: Date
  /**
   * When the current series of batches began. A schedule that became due after this is only waiting for its batch, and was not
   * missed.
   */
  since: Date
  log: Log
}

/**
 * Starts the first batch of due schedules. Returns the next time that a schedule is due, if any; `now` or earlier if more are due.
 */
export async function fireSchedules<Deps>(
  database: Database,
  jobs: ReadonlyMap<string, Job<unknown, Deps>>,
  firing: Firing,
): Promise<Date | undefined> {
  for (let fired = 0; ; fired++) {
    const row = await earliest(database, [...jobs.keys()])
    if (!row) return undefined
    if (row.nextRunAt > firing.now.getTime() || fired === batchSize) return new Date(row.nextRunAt)
    const declared = jobs.get(row.kind) as Job<unknown, Deps>
    await database.transaction((context) => fire(context, row, declared, firing))
  }
}

function earliest({ db }: Database, kinds: readonly string[]): Promise<ScheduleRow | undefined> {
  return db.selectFrom('schedules').selectAll().where('kind', 'in', kinds).orderBy('nextRunAt').limit(1).executeTakeFirst()
}

async function fire(
  context: TransactionContext,
  row: ScheduleRow,
  declared: Job<unknown, never>,
  { now, since, log }: Firing,
): Promise<void> {
  const { next, isValid } = nextTime(row, now)
  if (!(await advance(context, row, next))) return
  if (!isValid) return log.error({ schedule: row.key, kind: row.kind }, 'jobs: invalid schedule skipped')
  const due = new Date(row.nextRunAt)
  const payload = scheduleJson.payload(row)
  const handlesMissed = declared.onMissed !== undefined
  if (handlesMissed && since.getTime() - row.nextRunAt > missedAfterMs) {
    const missed = occurrencesUntil(recurrenceOf(row), due, now).map((time) => time.getTime())
    await context.enqueue(missedKind, { kind: row.kind, payload, missed })
    return
  }
  const { isNew } = await context.enqueue(declared, payload, { uniqueKey: `schedule:${row.key}`, scheduledFor: due })
  // The previous run has not ended: this time is skipped, and a module with `onMissed` is notified.
  if (!isNew && handlesMissed) await context.enqueue(missedKind, { kind: row.kind, payload, missed: [row.nextRunAt] })
}

/** Only one control plane advances a row from a given time, and only that one fires it. */
async function advance({ db }: TransactionContext, row: ScheduleRow, next: Date | null): Promise<boolean> {
  const advanced = next
    ? await db
        .updateTable('schedules')
        .set({ nextRunAt: next.getTime() })
        .where('key', '=', row.key)
        .where('nextRunAt', '=', row.nextRunAt)
        .returning('key')
        .executeTakeFirst()
    : await db
        .deleteFrom('schedules')
        .where('key', '=', row.key)
        .where('nextRunAt', '=', row.nextRunAt)
        .returning('key')
        .executeTakeFirst()
  return advanced !== undefined
}

const invalidPauseMs = 3_600_000

/** A row that has become invalid, for example because a time zone was abolished, must not block the others. */
function nextTime(row: ScheduleRow, now: Date): { next: Date | null; isValid: boolean } {
  try {
    return { next: nextAfter(row, now), isValid: true }
  } catch (error) {
    if (!(error instanceof InvalidRecurrence)) throw error
    return { next: new Date(now.getTime() + invalidPauseMs), isValid: false }
  }
}

/** The times of a fixed interval stay on their grid, however late this one is. */
function nextAfter(row: ScheduleRow, now: Date): Date | null {
  if (row.everySeconds === null) return nextOccurrence(recurrenceOf(row), now)
  const intervalMs = row.everySeconds * 1000
  const passedIntervals = Math.floor((now.getTime() - row.nextRunAt) / intervalMs) + 1
  return new Date(row.nextRunAt + passedIntervals * intervalMs)
}
