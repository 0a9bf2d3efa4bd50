import { GitHostError } from '../../drivers/git-host/git-host-error.ts'
import type { GitEventsDeps } from './deps.ts'

const passing = new Set(['limited', 'timed_out', 'unreachable', 'invalidResponse'])

/** Calls the git host. A temporary error is thrown, so that the job retries; a permanent one is only logged. */
export async function triedAgain({ log }: Pick<GitEventsDeps, 'log'>, notify: () => Promise<void>): Promise<void> {
  try {
    await notify()
  } catch (error) {
    if (!(error instanceof GitHostError) || passing.has(error.errorKind)) throw error
    log.info({ message: error.message, errorKind: error.errorKind }, 'git-events: call to the git host rejected')
  }
}
