/**
 * The maximum of a chart's axis: a round number at or above the highest value. Its half has no more digits, so that the text in the
 * middle of the axis is exact (the half of 5 requests would be rounded to 3).
 */
export function axisMaximum(highest: number): number {
  if (highest <= 0) return 1
  const size = 10 ** Math.floor(Math.log10(highest))
  const step = [1, 2, 4, 6, 8, 10].find((one) => one * size >= highest) ?? 10
  return step * size
}

/** The texts of the axis from top to bottom. The middle one is empty if rounding makes it equal to another one. */
export function axisTexts(top: number, format: (value: number) => string): [top: string, middle: string, bottom: string] {
  const [highest, middle, lowest] = [format(top), format(top / 2), format(0)]
  return [highest, middle === highest || middle === lowest ? '' : middle, lowest]
}

export interface Segment {
  from: number
  to: number
}

/** Segments of consecutive points with a value. The line has a gap where a measurement is missing. */
export function segmentsOf(values: readonly (number | null)[]): Segment[] {
  const segments: Segment[] = []
  for (let at = 0; at < values.length; at++) {
    if (values[at] === null) continue
    const last = segments.at(-1)
    if (last && last.to === at - 1) last.to = at
    else segments.push({ from: at, to: at })
  }
  return segments
}

/**
 * Drops the points before the first measurement, so that a new project's charts are not mostly empty, but keeps at least `minPoints`
 * points. Empty if nothing was measured.
 */
export function fromFirstMeasurement<Point>(
  points: readonly Point[],
  isMeasured: (point: Point) => boolean,
  minPoints = 12,
): readonly Point[] {
  const first = points.findIndex(isMeasured)
  if (first === -1) return []
  return points.slice(Math.max(0, Math.min(first - 1, points.length - minPoints)))
}

export type Summary = 'total' | 'average' | 'maximum'

/** A single figure for all values of a range; null if nothing was measured. */
export function summaryOf(values: readonly (number | null)[], summary: Summary): number | null {
  const measured = values.filter((value) => value !== null)
  if (measured.length === 0) return null
  if (summary === 'maximum') return Math.max(...measured)
  const total = measured.reduce((sum, value) => sum + value, 0)
  return summary === 'total' ? total : total / measured.length
}
