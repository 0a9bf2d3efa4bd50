import { GitHostError } from '../../drivers/git-host/git-host-error.ts'
import type { GitEventsDeps } from './deps.ts'

const passing = new Set(['limited', 'timed_out', 'away', 'nonsense'])

/** What may pass is thrown, and the job comes back to it; what will be refused again is noted, and that is all. */
export async function triedAgain({ log }: Pick<GitEventsDeps, 'log'>, tell: () => Promise<void>): Promise<void> {
  try {
    await tell()
  } catch (error) {
    if (!(error instanceof GitHostError) || passing.has(error.trouble)) throw error
    log.info({ words: error.message, trouble: error.trouble }, 'the git host was not told what became of a commit')
  }
}
