import { setTimeout as pause } from 'node:timers/promises'
import { isUnreachable } from './cloud-answer.ts'

export interface RetryLimits {
  /** How long the cloud may be away in the middle of a move before everything is taken back. */
  giveUpMs: number
  pollMs: number
}

/** The cloud may be restarted in the middle of a move: it is asked again until it answers, but not for ever. */
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
