/** A round number at or above the highest value, so that the top line of a chart can be read. */
export function niceTop(highest: number): number {
  if (highest <= 0) return 1
  const size = 10 ** Math.floor(Math.log10(highest))
  const step = [1, 2, 2.5, 5, 10].find((one) => one * size >= highest) ?? 10
  return step * size
}

export interface Stretch {
  from: number
  to: number
}

/** Runs of neighbouring points that have a value: the line is interrupted where there is no measurement. */
export function stretches(values: readonly (number | null)[]): Stretch[] {
  const found: Stretch[] = []
  for (let at = 0; at < values.length; at++) {
    if (values[at] === null) continue
    const last = found.at(-1)
    if (last && last.to === at - 1) last.to = at
    else found.push({ from: at, to: at })
  }
  return found
}

/**
 * Drops the points before the first measurement, so that a new project's charts are not mostly empty, but keeps at least `atLeast`
 * points. Empty if nothing was measured.
 */
export function sinceFirst<Point>(
  points: readonly Point[],
  isMeasured: (point: Point) => boolean,
  atLeast = 12,
): readonly Point[] {
  const first = points.findIndex(isMeasured)
  if (first === -1) return []
  return points.slice(Math.max(0, Math.min(first - 1, points.length - atLeast)))
}

export const lastKnown = (values: readonly (number | null)[]): number | null => values.findLast((value) => value !== null) ?? null
