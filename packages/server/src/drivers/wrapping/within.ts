interface TimeLimitOptions {
  ms: number
  abort: AbortSignal | undefined
  timeoutError(): Error
}

/**
 * Settles within the time limit even if the work does not; late work is aborted with the same reason. The caller's own abort ends
 * it at once.
 */
export async function within<Result>(
  { ms, abort, timeoutError }: TimeLimitOptions,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  abort?.throwIfAborted()
  const endController = new AbortController()
  const ended = Promise.withResolvers<never>()
  const end = (reason: unknown) => {
    ended.reject(reason)
    endController.abort(reason)
  }
  const stop = () => end(abort?.reason)
  const timer = setTimeout(() => end(timeoutError()), ms)
  abort?.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work(endController.signal), ended.promise])
  } finally {
    clearTimeout(timer)
    abort?.removeEventListener('abort', stop)
  }
}
