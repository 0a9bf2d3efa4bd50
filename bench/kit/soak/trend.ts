/** A measurement: the time in seconds from the start, and the value. */
export interface Sample {
  atSeconds: number
  value: number
}

export interface Trend {
  mean: number
  slopePerHour: number
  /** The rise of the fitted line from the first sample to the last. */
  growth: number
  /** How far the line may rise and still count as flat. */
  tolerance: number
  verdict: 'flat' | 'grows'
}

export interface Tolerance {
  /** Share of the mean. */
  part: number
  /** Minimum tolerance, in the unit of the measurement. */
  atLeast: number
}

/** Three standard errors: noise alone exceeds this once in some hundred runs. */
const standardErrors = 3

/**
 * The least-squares line through the last two thirds of the samples. A fall counts as flat: only growth is a problem in a long run.
 */
export function trendOf(samples: readonly Sample[], { part, atLeast }: Tolerance): Trend {
  const kept = samples.slice(Math.floor(samples.length / 3))
  const mean = average(kept.map(({ value }) => value))
  const middle = average(kept.map(({ atSeconds }) => atSeconds))
  const spread = sum(kept.map(({ atSeconds }) => (atSeconds - middle) ** 2))
  const slope = spread === 0 ? 0 : sum(kept.map(({ atSeconds, value }) => (atSeconds - middle) * (value - mean))) / spread
  const residual = sum(kept.map(({ atSeconds, value }) => (value - mean - slope * (atSeconds - middle)) ** 2))
  const error = kept.length > 2 && spread > 0 ? Math.sqrt(residual / (kept.length - 2) / spread) : 0
  const growth = slope * ((kept.at(-1)?.atSeconds ?? 0) - (kept[0]?.atSeconds ?? 0))
  const tolerance = Math.max(mean * part, atLeast)
  const grows = growth > tolerance && slope > standardErrors * error
  return { mean, slopePerHour: slope * 3600, growth, tolerance, verdict: grows ? 'grows' : 'flat' }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
const average = (numbers: readonly number[]) => (numbers.length === 0 ? 0 : sum(numbers) / numbers.length)
