const day = 86_400_000

/** A thing that ends at a known time, and when it began. */
export interface Lifetime {
  from: Date
  until: Date
}

/**
 * Which of the promised warnings are due, the latest one first. One whose time lay before the thing itself began is none: a
 * token that is made for three days needs no warning that it ends within seven.
 */
export function warningsDue(daysBefore: readonly number[], { from, until }: Lifetime, now: Date): number[] {
  return daysBefore
    .filter((days) => {
      const at = until.getTime() - days * day
      return at <= now.getTime() && at > from.getTime()
    })
    .sort((left, right) => left - right)
}

/** `in 7 days`, `within a day`, `has` expired: for a sentence. */
export function timeLeft(until: Date, now: Date): string {
  const days = Math.ceil((until.getTime() - now.getTime()) / day)
  return days <= 1 ? 'within a day' : `in ${days} days`
}

export const daysFrom = (now: Date, days: number): Date => new Date(now.getTime() + days * day)
