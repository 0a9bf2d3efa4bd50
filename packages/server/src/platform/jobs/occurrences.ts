import { Cron } from 'croner'

/** When a schedule is due: by a cron expression in a time zone, or at a fixed interval. */
export type Recurrence = { cron: string; timezone?: string | null } | { everySeconds: number }

/** The expression, the time zone or the interval is invalid; `field` names which. */
export class InvalidRecurrence extends Error {
  override readonly name = 'InvalidRecurrence'
  readonly field: 'cron' | 'timezone' | 'everySeconds'
  constructor(field: InvalidRecurrence['field'], message: string) {
    super(message)
    this.field = field
  }
}

/** The first time strictly after `after`; null if there is none, as for 30 February. */
export function nextOccurrence(recurrence: Recurrence, after: Date): Date | null {
  if ('everySeconds' in recurrence) {
    if (!(Number.isSafeInteger(recurrence.everySeconds) && recurrence.everySeconds > 0)) {
      throw new InvalidRecurrence('everySeconds', 'everySeconds must be a whole number above 0')
    }
    return new Date(after.getTime() + recurrence.everySeconds * 1000)
  }
  return parseCron(recurrence).nextRun(after)
}

/** The last time of a cron expression up to `at`; null if there is none. */
export function lastOccurrence(recurrence: { cron: string; timezone?: string | null }, at: Date): Date | null {
  // `previousRuns` excludes its reference time, so a second is added.
  return parseCron(recurrence).previousRuns(1, new Date(at.getTime() + 1_000))[0] ?? null
}

/** The times from `first` to `until`, both included; at most the oldest `limit`. */
export function occurrencesUntil(recurrence: Recurrence, first: Date, until: Date, limit = 1000): Date[] {
  const times: Date[] = []
  for (let time: Date | null = first; time && time <= until && times.length < limit; time = nextOccurrence(recurrence, time)) {
    times.push(time)
  }
  return times
}

function parseCron({ cron, timezone }: { cron: string; timezone?: string | null }): Cron {
  if (timezone != null && !isTimezone(timezone)) throw new InvalidRecurrence('timezone', `${timezone} is not a known time zone`)
  try {
    return new Cron(cron, { paused: true, mode: '5-part', timezone: timezone ?? 'UTC' })
  } catch (error) {
    const reason =
      cron.trim().split(/\s+/).length === 5
        ? (error as Error).message
        : 'it must have exactly five fields, for example `0 3 * * *`'
    throw new InvalidRecurrence('cron', `the cron expression is invalid: ${reason}`)
  }
}

/** Valid time zones: checking a name costs as much as a query. */
const knownTimezones = new Set<string>()
const maxCached = 1_000

function isTimezone(name: string): boolean {
  if (knownTimezones.has(name)) return true
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    if (knownTimezones.size < maxCached) knownTimezones.add(name)
    return true
  } catch {
    return false
  }
}
