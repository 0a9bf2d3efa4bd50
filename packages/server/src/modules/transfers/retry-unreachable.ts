import { setTimeout as pause } from 'node:timers/promises'
import { isUnreachable } from '../cloud/index.ts'

export interface RetryLimits {
  /** How long the cloud may be unreachable before the transfer is rolled back. */
  giveUpMs: number
  pollMs: number
}

/** Retries while the cloud is unreachable, up to the limit: it may be restarted during a transfer. */
export async function retryWhileUnreachable<Result>(
  call: () => Promise<Result>,
  { giveUpMs, pollMs }: RetryLimits,
  abort: AbortSignal,
): Promise<Result> {
  const giveUpAt = Date.now() + giveUpMs
  for (;;) {
    try {
      return await call()
    } catch (error) {
      abort.throwIfAborted()
      if (!isUnreachable(error) || Date.now() >= giveUpAt) throw error
      await pause(pollMs, undefined, { signal: abort })
    }
  }
}
