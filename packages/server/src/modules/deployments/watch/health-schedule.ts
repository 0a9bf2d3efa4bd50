import type { CheckIntervals } from '../watch-intervals.ts'

interface ScheduledCheck {
  /** Identity of the checked thing; a change starts with a new schedule. */
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
  readonly #rounds = new Map<string, ScheduledCheck>()

  constructor(intervals: CheckIntervals, random: () => number = Math.random) {
    this.#intervals = intervals
    this.#random = random
  }

  /** Sets the keys to check, each with its identity. New ones are checked within the first interval, spread over it. */
  setKeys(all: ReadonlyMap<string, string>, now: number): void {
    for (const key of this.#rounds.keys()) if (!all.has(key)) this.#rounds.delete(key)
    for (const [key, subject] of all) {
      if (this.#rounds.get(key)?.subject === subject) continue
      const intervalMs = this.#intervals.firstMs
      const dueAt = now + intervalMs * (0.5 + this.#random() / 2)
      this.#rounds.set(key, { subject, intervalMs, dueAt, isChecking: false, isRequested: false })
    }
  }

  due(now: number): string[] {
    return [...this.#rounds].filter(([, { dueAt, isChecking: isRunning }]) => !isRunning && dueAt <= now).map(([key]) => key)
  }

  /** Starts a check; returns the function that ends it with the result. `maxMs` overrides the longest interval. */
  startCheck(key: string): (isHealthy: boolean, now: number, maxMs?: number) => void {
    const round = this.#rounds.get(key)
    if (!round) return () => undefined
    round.isChecking = true
    return (isHealthy, now, maxMs = this.#intervals.maxMs) => {
      round.isChecking = false
      const { firstMs } = this.#intervals
      const next = isHealthy ? Math.min(maxMs, round.intervalMs * 1.5) : firstMs
      round.intervalMs = Math.min(maxMs, Math.max(firstMs, next))
      round.dueAt = round.isRequested ? now : now + round.intervalMs * (0.9 + this.#random() / 5)
      round.isRequested = false
    }
  }

  /** Makes the check of a key due now, because of an event. */
  checkNow(key: string, now: number): void {
    const round = this.#rounds.get(key)
    if (!round) return
    round.intervalMs = this.#intervals.firstMs
    if (round.isChecking) round.isRequested = true
    else round.dueAt = now
  }
}
