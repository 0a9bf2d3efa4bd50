import { within } from '../wrapping/within.ts'
import type { CallLimits } from './git-host.ts'
import { GitHostError } from './git-host-error.ts'

const defaultMs = 15_000

/** Settles within the time limit also when the work does not: a queue or a pause may ignore the signal. */
export const withinLimits = <Result>(
  title: string,
  { timeoutMs = defaultMs, abort }: CallLimits,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> =>
  within(
    {
      ms: timeoutMs,
      abort,
      timeoutError: () => new GitHostError('timed_out', `${title} did not answer within ${timeoutMs / 1000} seconds`),
    },
    work,
  )
