export interface LogBucket {
  /** Start of the bucket, in milliseconds. */
  at: number
  count: number
  errors: number
}

interface Line {
  time: string
  stream: string
}

/** Counts lines per interval of a time range, and those of standard error. Lines outside the range are left out. */
export function countLines(lines: readonly Line[], from: number, to: number, buckets = 40): LogBucket[] {
  const widthMs = Math.max(1, (to - from) / buckets)
  const counts = Array.from({ length: buckets }, (_, index) => ({ at: from + index * widthMs, count: 0, errors: 0 }))
  for (const { time, stream } of lines) {
    const at = Date.parse(time)
    if (at < from || at > to) continue
    const bucket = counts[Math.min(buckets - 1, Math.floor((at - from) / widthMs))]
    if (!bucket) continue
    bucket.count++
    if (stream === 'stderr') bucket.errors++
  }
  return counts
}
