import { setTimeout as pause } from 'node:timers/promises'
import type { Enqueued } from '../../platform/jobs/enqueue.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import { findAnyProject, findBySubject, listOperations, type ProjectPart, ResumeLater } from '../projects/index.ts'
import type { BackupsDeps } from './deps.ts'
import { retirePolicy } from './policies/retire.ts'
import { storeRetiredPolicy } from './policies/retired-policies.ts'
import { allPolicies } from './policy-store.ts'
import { cancelRestore, enqueueApply } from './restores/apply.ts'
import * as restores from './restores/restore-store.ts'
import { cancelRun } from './runs/cancel-run.ts'
import * as runs from './runs/run-store.ts'
import { enqueueRun } from './runs/start-run.ts'

/** Policies and runs of a project. Stored runs are kept on deletion: a restore brings the deleted project back. */
export const backupsPart = (deps: BackupsDeps): ProjectPart => ({
  describe: 'backups',
  async previewDeletion({ id }) {
    const { db } = deps.database
    const policies = (await allPolicies(db, id)).map((policy) => ({
      kind: 'backup policy',
      id: policy.id,
      name: policy.cronExpression ?? 'without a schedule',
      sizeBytes: null,
      kept: false,
    }))
    const storedRuns = (await runs.allRuns(db, id))
      .filter(({ status, prunedAt }) => status === 'succeeded' && prunedAt === null)
      .map((run) => ({
        kind: 'backup run',
        id: run.id,
        name: new Date(run.createdAt).toISOString(),
        sizeBytes: run.sizeBytes,
        kept: true,
        reason: 'the backups stay at their destination; a restore brings the project back',
      }))
    return [...policies, ...storedRuns]
  },
  resume: (projectId) => resumeWaiting(projectId, deps),
  async remove({ id }, { deleteVolumes }) {
    const { db } = deps.database
    for (const run of await runs.listUnfinished(db, id))
      await cancelRun(run, 'The project was deleted', deps).catch(() => undefined)
    for (const restore of await restores.listUnfinished(db, id))
      await cancelRestore(restore, deps, { message: 'The project was deleted', isAbandoned: deleteVolumes }).catch(
        () => undefined,
      )
    if (deleteVolumes) await waitUntilRestoresEnded(id, deps)
    await deps.database.transaction(async (transaction) => {
      for (const policy of await allPolicies(transaction.db, id)) {
        await storeRetiredPolicy(policy, transaction, deps)
        await retirePolicy(policy, transaction)
      }
    })
  },
})

const pollMs = 100
const maxWaitMs = 60_000

/**
 * Waits for restores: one that still writes would create deleted volumes again. Rejects after a timeout, so that the removal is
 * retried.
 */
async function waitUntilRestoresEnded(projectId: string, { database: { db } }: BackupsDeps): Promise<void> {
  for (const end = performance.now() + maxWaitMs; performance.now() < end; await pause(pollMs))
    if ((await listOperations(db, projectId, 0)).every(({ kind }) => kind !== 'restore')) return
  throw new Error('a restore is still being rolled back')
}

/** Continues runs and restores that waited for another operation; where the project has moved away, runs are cancelled. */
async function resumeWaiting(projectId: string, deps: BackupsDeps): Promise<void> {
  const { db } = deps.database
  const project = await findAnyProject(db, projectId)
  const isWaiting = async (id: string) => (await findBySubject(db, id))?.phase === 'waiting'
  for (const run of await runs.listUnfinished(db, projectId)) {
    if (!(await isWaiting(run.id))) continue
    if (project?.presence !== 'here' && project?.presence !== 'departing')
      await cancelRun(
        run,
        'The project was transferred while this run was queued. Its backups now run at the target.',
        deps,
      ).catch(() => undefined)
    else await enqueueOrRetry((transaction) => enqueueRun(run, run.trigger, transaction), deps)
  }
  for (const restore of await restores.listUnfinished(db, projectId))
    if (await isWaiting(restore.id)) await enqueueOrRetry((transaction) => enqueueApply(restore, transaction), deps)
}

async function enqueueOrRetry(
  enqueueJob: (transaction: TransactionContext) => Promise<Enqueued>,
  { database }: BackupsDeps,
): Promise<void> {
  const { isRunning } = await database.transaction(enqueueJob)
  if (isRunning) throw new ResumeLater()
}
