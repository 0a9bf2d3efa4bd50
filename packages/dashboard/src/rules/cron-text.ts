import { Cron } from 'croner'

export interface CronPreview {
  next: Date[]
  problem: string | null
}

/** The next times of a schedule, or the reason why it is invalid. */
export function readCron(expression: string, timezone: string, from: Date, count = 5): CronPreview {
  if (expression.trim() === '') return { next: [], problem: null }
  const fields = expression.trim().split(/\s+/)
  if (!expression.startsWith('@') && fields.length !== 5)
    return { next: [], problem: 'Five fields: minute, hour, day of the month, month, day of the week' }
  try {
    return { next: new Cron(expression, { timezone, paused: true }).nextRuns(count, from), problem: null }
  } catch (error) {
    return { next: [], problem: error instanceof Error ? error.message : String(error) }
  }
}

export const timeInZone = (date: Date, timezone: string): string =>
  date.toLocaleString('en-GB', {
    timeZone: timezone,
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    hour: '2-digit',
    minute: '2-digit',
    hour12: false,
  })

export const schedules = [
  { value: '0 * * * *', label: 'Every hour' },
  { value: '0 */6 * * *', label: 'Every six hours' },
  { value: '0 2 * * *', label: 'Every night at 02:00' },
  { value: '0 3 * * *', label: 'Every night at 03:00' },
  { value: '0 3 * * 0', label: 'Every Sunday at 03:00' },
  { value: '0 3 1 * *', label: 'On the first of each month' },
] as const

/** The label of a common schedule, or the cron expression; then the time zone, unless it is UTC. */
export function scheduleText({ cronExpression, timezone = 'UTC' }: { cronExpression: string | null; timezone?: string }): string {
  if (cronExpression === null) return 'manual only'
  const text = schedules.find(({ value }) => value === cronExpression)?.label.toLowerCase() ?? cronExpression
  return timezone === 'UTC' ? text : `${text} (${timezone})`
}
