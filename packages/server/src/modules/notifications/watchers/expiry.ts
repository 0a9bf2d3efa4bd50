const day = 86_400_000

/** A validity period. */
export interface Lifetime {
  from: Date
  until: Date
}

/**
 * The warnings that are due, latest first. A warning time before the start of the validity is skipped: a token that is valid for
 * three days needs no warning seven days ahead.
 */
export function warningsDue(daysBefore: readonly number[], { from, until }: Lifetime, now: Date): number[] {
  return daysBefore
    .filter((days) => {
      const at = until.getTime() - days * day
      return at <= now.getTime() && at > from.getTime()
    })
    .sort((left, right) => left - right)
}

/** `in 7 days` or `within a day`, for a sentence. */
export function timeLeft(until: Date, now: Date): string {
  const days = Math.ceil((until.getTime() - now.getTime()) / day)
  return days <= 1 ? 'within a day' : `in ${days} days`
}

export const daysFrom = (now: Date, days: number): Date => new Date(now.getTime() + days * day)
