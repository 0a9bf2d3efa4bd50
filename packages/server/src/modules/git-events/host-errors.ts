import { GitHostError } from '../../drivers/git-host/git-host-error.ts'
import type { GitEventsDeps } from './deps.ts'

const temporaryErrors = new Set(['limited', 'timed_out', 'unreachable', 'invalidResponse'])

/** Calls the git host. A temporary error is thrown, so that the job retries; a permanent one is only logged. */
export async function callGitHost({ log }: Pick<GitEventsDeps, 'log'>, call: () => Promise<void>): Promise<void> {
  try {
    await call()
  } catch (error) {
    if (!(error instanceof GitHostError) || temporaryErrors.has(error.errorKind)) throw error
    log.info({ message: error.message, errorKind: error.errorKind }, 'git-events: call to the git host rejected')
  }
}
