import type { Sample } from './metric-source.ts'

/** Counts durations in buckets, for a histogram. */
export class DurationTally {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0

  /** `bounds` are the upper bounds of the buckets in seconds, in ascending order. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  observe(seconds: number): void {
    let bucket = 0
    while (bucket < this.#bounds.length && seconds > this.#bounds[bucket]!) bucket++
    this.#counts[bucket]!++
    this.#sum += seconds
  }

  samples(labels: Readonly<Record<string, string>> = {}): Sample[] {
    return histogramSamples(this.#bounds, this.#counts, this.#sum, labels)
  }
}

/** The samples of a histogram: `counts` has one entry per bound, and a last one for everything above. */
export function histogramSamples(
  bounds: readonly number[],
  counts: readonly number[],
  sum: number,
  labels: Readonly<Record<string, string>> = {},
): Sample[] {
  let total = 0
  const buckets = counts.map((count, at): Sample => {
    total += count
    const le = at < bounds.length ? String(bounds[at]) : '+Inf'
    return { suffix: '_bucket', labels: { ...labels, le }, value: total }
  })
  return [...buckets, { suffix: '_sum', labels, value: sum }, { suffix: '_count', labels, value: total }]
}
