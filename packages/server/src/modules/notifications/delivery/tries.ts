import type { Millis } from '../../../platform/db/columns.ts'

/** Tries in all; one whose process died counts. */
export const mostTries = 8

const seconds = 1_000
const minutes = 60 * seconds
const hours = 60 * minutes
/** After the first try, the second …: about half a day in all, which outlasts most outages of a receiver. */
const pauses = [15 * seconds, 1 * minutes, 5 * minutes, 15 * minutes, 1 * hours, 3 * hours, 8 * hours] as const

/** The pause after try `attempt`, up to a tenth longer by chance; never shorter than the other side asked for. */
export function pauseAfter(attempt: number, retryAfterMs = 0): Millis {
  const pause = pauses[attempt - 1] ?? pauses.at(-1)!
  return Math.round(Math.max(pause * (1 + Math.random() / 10), retryAfterMs))
}
