import { fail, refuse } from '../failure.ts'
import { InvalidRecurrence, nextOccurrence } from './occurrences.ts'

/**
 * Responds 400 when the cron expression or the time zone is invalid, or the expression never matches. `field` is the body's name
 * of the expression.
 */
export function checkRecurrence({ cron, timezone }: { cron: string; timezone: string }, now: Date, field: string): void {
  try {
    const next = nextOccurrence({ cron, timezone }, now)
    if (!next) fail('cron_invalid', { field, message: 'The cron expression never matches a future time' })
  } catch (error) {
    if (!(error instanceof InvalidRecurrence)) throw error
    if (error.field === 'timezone') refuse('timezone', 'is not a known time zone, such as Europe/Vienna or UTC')
    fail('cron_invalid', { field, message: `The cron expression is invalid: ${detail(error.message)}` })
  }
}

const detail = (message: string) => message.replace(/^the cron expression is invalid: /, '').slice(0, 200)

/** The next time of a stored expression; null if there is none, or if its time zone no longer exists. */
export function nextTimeOf(recurrence: { cron: string; timezone: string }, now: Date): Date | null {
  try {
    return nextOccurrence(recurrence, now)
  } catch {
    return null
  }
}
