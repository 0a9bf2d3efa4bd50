/** When the next look at each thing is due. Time is an argument. */
export interface Pauses {
  firstMs: number
  /** While all is well each pause is half as long again as the one before, up to this. */
  longestMs: number
}

interface Round {
  /** What is looked at; another one begins anew. */
  subject: string
  pauseMs: number
  dueAt: number
  isLooking: boolean
  /** Asked for while a look was under way: that one may have seen what was before. */
  isAskedFor: boolean
}

/**
 * Spreads looks over time. Each thing has its own rhythm, so one whose look takes long keeps no other waiting; what is well is looked at
 * more and more seldom, what is not, or was in the news, soon again.
 */
export class HealthRounds {
  readonly #pauses: Pauses
  readonly #chance: () => number
  readonly #rounds = new Map<string, Round>()

  constructor(pauses: Pauses, chance: () => number = Math.random) {
    this.#pauses = pauses
    this.#chance = chance
  }

  /** These there are now, each with what it is: new ones are looked at within the first pause, spread over it. */
  keep(all: ReadonlyMap<string, string>, now: number): void {
    for (const key of this.#rounds.keys()) if (!all.has(key)) this.#rounds.delete(key)
    for (const [key, subject] of all) {
      if (this.#rounds.get(key)?.subject === subject) continue
      const pauseMs = this.#pauses.firstMs
      const dueAt = now + pauseMs * (0.5 + this.#chance() / 2)
      this.#rounds.set(key, { subject, pauseMs, dueAt, isLooking: false, isAskedFor: false })
    }
  }

  due(now: number): string[] {
    return [...this.#rounds].filter(([, { dueAt, isLooking }]) => !isLooking && dueAt <= now).map(([key]) => key)
  }

  /** Gives the end of the look, to be called with what it found; `longestMs` where this one has a rhythm of its own. */
  begin(key: string): (isWell: boolean, now: number, longestMs?: number) => void {
    const round = this.#rounds.get(key)
    if (!round) return () => undefined
    round.isLooking = true
    return (isWell, now, longestMs = this.#pauses.longestMs) => {
      round.isLooking = false
      const { firstMs } = this.#pauses
      const next = isWell ? Math.min(longestMs, round.pauseMs * 1.5) : firstMs
      round.pauseMs = Math.min(longestMs, Math.max(firstMs, next))
      round.dueAt = round.isAskedFor ? now : now + round.pauseMs * (0.9 + this.#chance() / 5)
      round.isAskedFor = false
    }
  }

  /** Something happened to it: it is looked at at once. */
  hurry(key: string, now: number): void {
    const round = this.#rounds.get(key)
    if (!round) return
    round.pauseMs = this.#pauses.firstMs
    if (round.isLooking) round.isAskedFor = true
    else round.dueAt = now
  }
}
