/** A seeded random generator (mulberry32): the same seed makes the same inputs on every machine. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** Returns a number from 0 up to, not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number from 0 up to, not including, `below`. */
  below(below: number): number {
    return Math.floor(this.next() * below)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)]!
  }

  /** Up to `atMost` generated values. */
  some<Value>(atMost: number, make: (random: Random) => Value): Value[] {
    return Array.from({ length: this.below(atMost + 1) }, () => make(this))
  }

  /** The text with a few of its characters dropped, doubled, replaced or swapped for one of `others`. */
  mutated(text: string, others: readonly string[]): string {
    let result = text
    for (let left = 1 + this.below(3); left > 0; left -= 1) {
      const at = this.below(result.length + 1)
      const kept = this.below(4) === 0 ? at : Math.min(result.length, at + 1 + this.below(3))
      result = result.slice(0, at) + (this.chance(0.7) ? this.pick(others) : '') + result.slice(kept)
    }
    return result
  }
}
