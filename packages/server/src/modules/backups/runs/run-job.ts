import { job } from '../../../platform/jobs/declare.ts'
import type { SavedProject } from '../../projects/index.ts'
import type { BackupsDeps } from '../deps.ts'
import { failureOf, internalText } from '../failures.ts'
import { mayStart } from '../may-start.ts'
import { endRun, RunIsOver } from './move-run.ts'
import { performRun } from './perform-run.ts'
import { backUp, type RunPayload } from './start-run.ts'

const hours = 3_600_000

export function runJob(deps: BackupsDeps) {
  return job<RunPayload, unknown>(backUp, {
    deadlineMs: 12 * hours,
    maxAttempts: 3,
    concurrency: deps.settings.maxBackups,
    async run({ runId }, _, abort) {
      // A run that waits for a transfer is enqueued again when the transfer has ended.
      if (await mayStart(runId, deps)) await runToEnd(runId, deps, abort)
    },
    async onFailed({ runId }, { message }) {
      deps.log.error({ runId, message }, 'backups: run failed, all attempts used up')
      const ending = {
        status: 'server_error',
        code: 'internal',
        message: internalText,
      } as const
      await deps.database.transaction((transaction) => endRun(runId, ending, transaction, deps))
    },
  })
}

/** An error that a user can act on ends the run at once; any other one is retried. `deleted`: see `performRun`. */
export async function runToEnd(runId: string, deps: BackupsDeps, abort: AbortSignal, deleted?: SavedProject): Promise<void> {
  try {
    await performRun(runId, deps, abort, deleted)
  } catch (error) {
    if (error instanceof RunIsOver) return
    abort.throwIfAborted()
    const failure = failureOf(error)
    if (!failure) throw error
    await deps.database.transaction((transaction) => endRun(runId, { status: 'failed', ...failure }, transaction, deps))
  }
}
