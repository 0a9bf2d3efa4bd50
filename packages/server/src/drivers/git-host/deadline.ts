import type { CallLimits } from './git-host.ts'
import { GitHostError } from './git-host-error.ts'

const defaultMs = 15_000

/** Settles within the time limit also when the work does not: what it waits for (a queue, a pause) may not know the signal. */
export async function withinLimits<Result>(
  title: string,
  { timeoutMs = defaultMs, abort }: CallLimits,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(new GitHostError('timed_out', `${title} did not answer within ${timeoutMs / 1000} seconds`))
    ending.abort()
  }, timeoutMs)
  const onAbort = () => {
    late.reject(abort?.reason)
    ending.abort()
  }
  abort?.addEventListener('abort', onAbort, { once: true })
  if (abort?.aborted) onAbort()
  const working = work(ending.signal)
  working.catch(() => undefined)
  try {
    return await Promise.race([working, late.promise])
  } finally {
    clearTimeout(timer)
    abort?.removeEventListener('abort', onAbort)
    late.promise.catch(() => undefined)
  }
}
