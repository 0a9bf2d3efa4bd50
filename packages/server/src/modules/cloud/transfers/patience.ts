import { setTimeout as pause } from 'node:timers/promises'
import { isUnreachable } from './cloud-answer.ts'

export interface Patience {
  /** How long the cloud may be away in the middle of a move before everything is taken back. */
  patienceMs: number
  lookMs: number
}

/** The cloud may be restarted in the middle of a move: it is asked again until it answers, but not for ever. */
export async function patiently<Result>(
  call: () => Promise<Result>,
  { patienceMs, lookMs }: Patience,
  abort: AbortSignal,
): Promise<Result> {
  const giveUpAt = Date.now() + patienceMs
  for (;;) {
    try {
      return await call()
    } catch (error) {
      abort.throwIfAborted()
      if (!isUnreachable(error) || Date.now() >= giveUpAt) throw error
      await pause(lookMs, undefined, { signal: abort })
    }
  }
}
