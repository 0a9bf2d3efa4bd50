import type { CheckIntervals } from '../watch-intervals.ts'

interface ScheduledCheck {
  /** Identity of what is checked, such as a deployment id: when it changes, the schedule starts anew. */
  subject: string
  intervalMs: number
  dueAt: number
  isChecking: boolean
  /** A check was requested while one was running, which may have seen the older state. */
  isRequested: boolean
}

/**
 * Schedules health checks. Each key has its own schedule, so a slow check delays no other. Healthy keys are checked less and less
 * often; unhealthy ones, and those with an event, soon again.
 */
export class HealthSchedule {
  readonly #intervals: CheckIntervals
  readonly #random: () => number
  readonly #checks = new Map<string, ScheduledCheck>()

  constructor(intervals: CheckIntervals, random: () => number = Math.random) {
    this.#intervals = intervals
    this.#random = random
  }

  /** Sets the keys to check, each with its identity. New ones are checked within the first interval, spread over it. */
  setKeys(all: ReadonlyMap<string, string>, now: number): void {
    for (const key of this.#checks.keys()) if (!all.has(key)) this.#checks.delete(key)
    for (const [key, subject] of all) {
      if (this.#checks.get(key)?.subject === subject) continue
      const intervalMs = this.#intervals.firstMs
      const dueAt = now + intervalMs * (0.5 + this.#random() / 2)
      this.#checks.set(key, { subject, intervalMs, dueAt, isChecking: false, isRequested: false })
    }
  }

  due(now: number): string[] {
    return [...this.#checks].filter(([, { dueAt, isChecking }]) => !isChecking && dueAt <= now).map(([key]) => key)
  }

  /** Starts a check; returns the function that ends it with the result. `maxMs` overrides the longest interval. */
  startCheck(key: string): (isHealthy: boolean, now: number, maxMs?: number) => void {
    const check = this.#checks.get(key)
    if (!check) return () => undefined
    check.isChecking = true
    return (isHealthy, now, maxMs = this.#intervals.maxMs) => {
      check.isChecking = false
      const { firstMs } = this.#intervals
      const next = isHealthy ? Math.min(maxMs, check.intervalMs * 1.5) : firstMs
      check.intervalMs = Math.min(maxMs, Math.max(firstMs, next))
      check.dueAt = check.isRequested ? now : now + check.intervalMs * (0.9 + this.#random() / 5)
      check.isRequested = false
    }
  }

  /** Makes the check of a key due now, because of an event. */
  checkNow(key: string, now: number): void {
    const check = this.#checks.get(key)
    if (!check) return
    check.intervalMs = this.#intervals.firstMs
    if (check.isChecking) check.isRequested = true
    else check.dueAt = now
  }
}
