/** Check intervals. The current time is always an argument. */
export interface Pauses {
  firstMs: number
  /** While healthy, each interval is 1.5 times the previous one, up to this. */
  maxMs: number
}

interface Round {
  /** Identity of the checked thing; a change starts with a new schedule. */
  subject: string
  pauseMs: number
  dueAt: number
  isChecking: boolean
  /** A check was requested while one was running, which may have seen the older state. */
  isRequested: boolean
}

/**
 * Schedules health checks. Each key has its own schedule, so a slow check delays no other. Healthy keys are checked less and less
 * often; unhealthy ones, and those with an event, soon again.
 */
export class HealthRounds {
  readonly #pauses: Pauses
  readonly #chance: () => number
  readonly #rounds = new Map<string, Round>()

  constructor(pauses: Pauses, chance: () => number = Math.random) {
    this.#pauses = pauses
    this.#chance = chance
  }

  /** Sets the keys to check, each with its identity. New ones are checked within the first interval, spread over it. */
  keep(all: ReadonlyMap<string, string>, now: number): void {
    for (const key of this.#rounds.keys()) if (!all.has(key)) this.#rounds.delete(key)
    for (const [key, subject] of all) {
      if (this.#rounds.get(key)?.subject === subject) continue
      const pauseMs = this.#pauses.firstMs
      const dueAt = now + pauseMs * (0.5 + this.#chance() / 2)
      this.#rounds.set(key, { subject, pauseMs, dueAt, isChecking: false, isRequested: false })
    }
  }

  due(now: number): string[] {
    return [...this.#rounds].filter(([, { dueAt, isChecking: isLooking }]) => !isLooking && dueAt <= now).map(([key]) => key)
  }

  /** Starts a check; returns the function that ends it with the result. `maxMs` overrides the longest interval. */
  begin(key: string): (isWell: boolean, now: number, maxMs?: number) => void {
    const round = this.#rounds.get(key)
    if (!round) return () => undefined
    round.isChecking = true
    return (isWell, now, maxMs = this.#pauses.maxMs) => {
      round.isChecking = false
      const { firstMs } = this.#pauses
      const next = isWell ? Math.min(maxMs, round.pauseMs * 1.5) : firstMs
      round.pauseMs = Math.min(maxMs, Math.max(firstMs, next))
      round.dueAt = round.isRequested ? now : now + round.pauseMs * (0.9 + this.#chance() / 5)
      round.isRequested = false
    }
  }

  /** Makes the check of a key due now, because of an event. */
  hurry(key: string, now: number): void {
    const round = this.#rounds.get(key)
    if (!round) return
    round.pauseMs = this.#pauses.firstMs
    if (round.isChecking) round.isRequested = true
    else round.dueAt = now
  }
}
