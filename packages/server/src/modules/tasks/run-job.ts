import { limits } from '@berth/contract'
import { job } from '../../platform/jobs/declare.ts'
import { beginRun } from './begin-run.ts'
import { findRun } from './cron-run-store.ts'
import type { TasksDeps } from './deps.ts'
import { instanceOf } from './end-runs.ts'
import { finishRun } from './finish-run.ts'
import { followRun } from './follow-run.ts'
import { type RunPayload, runKind } from './request-run.ts'

/** Time for the start and the stop of an instance, beyond the time limit of the task. */
const marginMs = 15 * 60_000

/**
 * Runs a task to its end. The command is started at most once: an attempt after a crash follows the instance that the earlier
 * attempt started, and ends the run as failed where that instance does not exist.
 */
export const runJob = (deps: TasksDeps) =>
  job<RunPayload, unknown>(runKind, {
    deadlineMs: limits.taskSecondsMaximum * 1000 + marginMs,
    maxAttempts: 20,
    concurrency: deps.settings.maxTasks,
    backoff: () => 2_000,
    async run({ runId }, _, abort) {
      const begun = await beginRun(runId, deps)
      if (begun) await followRun(begun, deps, abort)
    },
    async onFailed({ runId }, { message }) {
      deps.log.error({ runId, message }, 'tasks: run failed, all attempts used up')
      const run = await findRun(deps.database.db, runId)
      const instance = run && instanceOf(run)
      if (instance) await deps.instances.stop(instance, 0).catch(() => undefined)
      await finishRun(runId, { status: 'failed', exitCode: null, error: 'Berth could not run the task: internal error' }, deps)
    },
  })
