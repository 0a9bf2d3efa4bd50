import { setTimeout as pause } from 'node:timers/promises'

/** Maximum wait for another process that writes; then the write fails, as it would after SQLite's own timeout. */
const giveUpMs = 30_000
const longestPauseMs = 10

/**
 * Runs a statement that takes SQLite's write lock, again while another process holds it. SQLite itself would wait in a blocking
 * sleep, and the event loop with it. The pauses are random, so that two processes that write without a break take turns.
 */
export async function whileBusy<Result>(run: () => Result): Promise<Result> {
  const giveUpAt = performance.now() + giveUpMs
  for (let attempt = 1; ; attempt++)
    try {
      return run()
    } catch (error) {
      if (!isBusy(error) || performance.now() > giveUpAt) throw error
      await pause(Math.random() * Math.min(attempt, longestPauseMs))
    }
}

const sqliteBusy = 5

/** SQLite sets the low byte to the primary result code. */
export const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === sqliteBusy
