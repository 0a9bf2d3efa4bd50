import type { RunRow } from '../../../platform/db/tables/backups.ts'
import { job } from '../../../platform/jobs/declare.ts'
import { folderOf } from '../content/manifest.ts'
import { removeAll } from '../content/remove-objects.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { findDestination } from '../destinations/destination-store.ts'
import { openStore } from '../destinations/open-store.ts'
import { findPolicy } from '../policy-store.ts'
import { type CleanUpPayload, cleanUp } from './clean-up-kind.ts'
import { runPostCommand } from './commands.ts'
import { deleteArtifacts, findRun, updateRun } from './run-store.ts'

const unfinishedUploadAgeMs = 24 * 3_600_000

/** Retries often: a destination may be unreachable for days, and its leftover objects must still be removed. */
export const cleanUpJob = (deps: BackupsDeps) =>
  job<CleanUpPayload, unknown>(cleanUp, {
    deadlineMs: 3_600_000,
    maxAttempts: 100,
    concurrency: 4,
    async run({ runId }, _, abort) {
      const run = await findRun(deps.database.db, runId)
      if (!run || run.status === 'succeeded') return
      if (run.postCommandState === 'due') await postCommandOf(run, deps, abort)
      await removeLeftovers(run, deps, abort)
      await deleteArtifacts(deps.database.db, run.id)
    },
  })

/** Tries once: a missing service or a failing command is not retried. */
async function postCommandOf(run: RunRow, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  const policy = run.policyId === null ? undefined : await findPolicy(deps.database.db, run.policyId)
  try {
    await runPostCommand(run, policy ?? { preCommand: null, postCommand: null }, deps, abort)
  } catch (error) {
    abort.throwIfAborted()
    deps.log.warn({ err: error, runId: run.id }, 'backups: post-command failed')
    await updateRun(deps.database.db, run.id, { postCommandState: 'done' })
  }
}

async function removeLeftovers(run: RunRow, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  const destination = run.destinationId === null ? undefined : await findDestination(deps.database.db, run.destinationId)
  if (!destination) return
  const store = await openStore(destination, deps, abort)
  try {
    await removeAll(store, folderOf(run), abort)
    await store.removeUnfinished(new Date(nowOf(deps) - unfinishedUploadAgeMs), abort)
  } finally {
    await store.close()
  }
}
