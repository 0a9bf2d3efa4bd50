/**
 * A histogram of request durations in which each bucket is a fifth longer than the previous one, from a quarter of a millisecond
 * to a quarter of an hour. Histograms can be added, and a percentile read from one is accurate to a tenth.
 */
export const latencyBuckets = 90

const shortestMs = 0.25
const perDoubling = 4

export const bucketOf = (ms: number): number =>
  ms < shortestMs ? 0 : Math.min(latencyBuckets - 1, 1 + Math.floor(perDoubling * Math.log2(ms / shortestMs)))

const lowerMs = (bucket: number) => (bucket === 0 ? 0 : shortestMs * 2 ** ((bucket - 1) / perDoubling))

/** The upper bound of a bucket, exclusive. */
export const boundMs = (bucket: number): number => shortestMs * 2 ** (bucket / perDoubling)

/** The duration that is assumed for every request in a bucket. */
export const averageMs = (bucket: number): number => (lowerMs(bucket) + boundMs(bucket)) / 2

export type LatencyCounts = Uint32Array | Float64Array

/** Only non-empty buckets: bucket, count, bucket, count … */
export function packLatency(counts: LatencyCounts): number[] {
  const packed: number[] = []
  for (let bucket = 0; bucket < counts.length; bucket++) if (counts[bucket]! > 0) packed.push(bucket, counts[bucket]!)
  return packed
}

/** Adds a packed histogram; unknown bucket numbers are ignored. */
export function addLatency(to: LatencyCounts, packed: readonly number[]): void {
  for (let at = 0; at + 1 < packed.length; at += 2) {
    const bucket = packed[at]!
    if (bucket >= 0 && bucket < to.length) to[bucket]! += packed[at + 1]!
  }
}

/** The percentile (0 to 1) in milliseconds; null if there were no requests. */
export function latencyAt(counts: LatencyCounts, percentile: number): number | null {
  let total = 0
  for (const count of counts) total += count
  if (total === 0) return null
  const rank = Math.max(1, Math.ceil(total * percentile))
  let countBelow = 0
  for (let bucket = 0; bucket < counts.length; bucket++) {
    const count = counts[bucket]!
    if (countBelow + count >= rank) {
      const lower = lowerMs(bucket)
      const position = (rank - countBelow - 0.5) / count
      return Math.round((lower + (lowerMs(bucket + 1) - lower) * position) * 100) / 100
    }
    countBelow += count
  }
  return null
}
