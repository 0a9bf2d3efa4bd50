/** Intervals between two health checks of one environment. */
export interface CheckIntervals {
  firstMs: number
  /** While healthy, each interval is 1.5 times the previous one, up to this. */
  maxMs: number
}

export interface WatchIntervals {
  /** Interval between starts of the checks that are due. */
  tickMs: number
  /** Interval between readings of the list of live environments. */
  listMs: number
  checks: CheckIntervals
}

export const standardWatchIntervals: WatchIntervals = {
  tickMs: 1_000,
  listMs: 5_000,
  checks: { firstMs: 5_000, maxMs: 30_000 },
}
