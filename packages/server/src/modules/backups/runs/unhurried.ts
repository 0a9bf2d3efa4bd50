import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'

const windowMs = 10_000
const hurryFrom = 25
const longestRestMs = 500

/** When the last ones ended, by this process's own clock. */
const ended: number[] = []

/**
 * A thousand short runs one after the other would leave little of the one loop that answers requests. So where there were many of
 * late, each that nobody waits for is followed by a rest, twice as long as the loop was busy meanwhile, and never long.
 */
export async function unhurried<Result>(work: () => Promise<Result>, abort: AbortSignal): Promise<Result> {
  const before = performance.eventLoopUtilization()
  const result = await work()
  const now = performance.now()
  ended.push(now)
  while (ended.length > 0 && now - (ended[0] as number) > windowMs) ended.shift()
  if (ended.length < hurryFrom) return result
  const { active } = performance.eventLoopUtilization(before)
  await pause(Math.min(longestRestMs, 2 * active), undefined, { signal: abort }).catch(() => undefined)
  return result
}
