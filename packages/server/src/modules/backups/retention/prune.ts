import type { ArtifactRow, RunRow } from '../../../platform/db/tables/backups.ts'
import { deletionTime } from '../../../platform/job-runner/clock-watch.ts'
import { type JobKind, job } from '../../../platform/jobs/declare.ts'
import type { Schedule } from '../../../platform/jobs/schedules.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { folderOf } from '../content/manifest.ts'
import { removeAll, removeNames } from '../content/remove-objects.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { findDestination } from '../destinations/destination-store.ts'
import { openStore } from '../destinations/open-store.ts'
import { allPolicies } from '../policy-store.ts'
import { moveRestore } from '../restores/move-restore.ts'
import { listUnfinished, listWithSafetyRun } from '../restores/restore-store.ts'
import { artifactIndex } from '../runs/artifact-index.ts'
import { enqueuePrune, type PrunePayload, prune } from '../runs/prune-kind.ts'
import { runsToPrune } from '../runs/retention.ts'
import { artifactsOf, deleteArtifacts, listUsedPartNames, updateRun } from '../runs/run-store.ts'
import {
  listIncompletelyPruned,
  listSuccessfulRuns,
  markPruned,
  projectsWithRuns,
  retiredRuns,
} from '../runs/stored-run-store.ts'
import { sortSafetyRuns } from './undo-points.ts'

const maxStagedMs = 24 * 3_600_000

/**
 * Limits of safety runs, each of which applies: at most three, and none older than two weeks except the newest. They apply
 * separately to undo points and to the safety runs of restores that changed nothing.
 */
const safetyLimits = [
  { retainCount: 3, retainDays: null },
  { retainCount: null, retainDays: 14 },
]

/**
 * Applies retention from the database's records alone. A run is marked first, then its objects are removed; a marked run with
 * remaining objects is found again by its record, so the job may be killed at any point.
 */
export const pruneJob = (deps: BackupsDeps) =>
  job<PrunePayload, unknown>(prune, {
    deadlineMs: 3_600_000,
    maxAttempts: 100,
    concurrency: 2,
    async run({ projectId }, _, abort) {
      await deps.database.transaction((transaction) => cancelExpiredStaged(projectId, transaction, deps))
      for (const run of await listDueForPruning(projectId, deps)) await markPruned(deps.database.db, run.id, nowOf(deps))
      for (const run of await listIncompletelyPruned(deps.database.db, projectId)) await removeLeftovers(run, deps, abort)
    },
  })

type NoPayload = Record<string, never>
const pruneAllKind: JobKind<NoPayload> = { kind: 'backups.prune-all' }

export const pruneSchedule: Schedule<unknown> = {
  key: pruneAllKind.kind,
  job: pruneAllKind,
  payload: {},
  recurrence: { everySeconds: 86_400 },
}

/**
 * Prunes every project daily: retention and locks expire also for projects without new runs, and a destination that was
 * unreachable may still hold objects.
 */
export const pruneAllJob = (deps: BackupsDeps) =>
  job<NoPayload, unknown>(pruneAllKind.kind, {
    deadlineMs: 600_000,
    async run() {
      for (const projectId of await projectsWithRuns(deps.database.db))
        await deps.database.transaction((transaction) => enqueuePrune(projectId, transaction))
    },
  })

/** Cancels restores that were staged for a day and not applied: they would keep their run for ever. */
async function cancelExpiredStaged(projectId: string, transaction: TransactionContext, deps: BackupsDeps): Promise<void> {
  for (const { id, status, createdAt } of await listUnfinished(transaction.db, projectId))
    if (status === 'staged' && createdAt < nowOf(deps) - maxStagedMs)
      await moveRestore(id, 'cancelled', transaction, deps, {
        errorCode: 'expired',
        errorMessage: 'The restore was not applied within a day',
      })
}

async function listDueForPruning(projectId: string, deps: BackupsDeps): Promise<RunRow[]> {
  const { db } = deps.database
  const now = await deletionTime(deps.database, deps.clock.now())
  const groups: [Retention, RunRow[]][] = []
  for (const policy of await allPolicies(db, projectId)) groups.push([policy, await listSuccessfulRuns(db, policy.id)])
  for (const [id, runs] of Map.groupBy(await retiredRuns(db, projectId), ({ formerPolicyId }) => formerPolicyId)) {
    // Old records do not name their policy: those runs are all kept.
    groups.push([id === null ? { retainCount: null, retainDays: null } : (runs[0] as RunRow), runs])
  }
  const restores = await listWithSafetyRun(db, projectId)
  return groups.flatMap(([retention, runs]) => {
    const { undoPoints, unneeded, needed } = sortSafetyRuns(runs.filter(isSafety), restores)
    const policyRuns = runs.filter((run) => !isSafety(run))
    const safetyRuns = safetyLimits.flatMap((limit) => [
      ...runsToPrune(limit, undoPoints, now),
      ...runsToPrune(limit, unneeded, now),
    ])
    return [...runsToPrune(retention, policyRuns, now), ...safetyRuns.filter(({ id }) => !needed.has(id))]
  })
}

type Retention = Pick<RunRow, 'retainCount' | 'retainDays'>
const isSafety = ({ trigger }: RunRow) => trigger === 'pre_restore' || trigger === 'pre_deploy'

/** Removes the run's own objects, and those of earlier runs that no other run relies on. */
async function removeLeftovers(run: RunRow, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  const { db } = deps.database
  const destination = run.destinationId === null ? undefined : await findDestination(db, run.destinationId)
  if (destination) {
    const usedNames = await listUsedPartNames(db, run)
    const store = await openStore(destination, deps, abort)
    try {
      const recorded = namesIn(await artifactsOf(db, run.id))
      if (run.manifestName !== null) recorded.add(run.manifestName)
      await removeNames(
        store,
        [...recorded].filter((name) => !usedNames.has(name)),
        abort,
      )
      // Objects that failed attempts left in the run's own folder.
      await removeAll(store, folderOf(run), abort, usedNames)
    } finally {
      await store.close()
    }
  }
  await deleteArtifacts(db, run.id)
  await updateRun(db, run.id, { manifestName: null })
}

const namesIn = (artifacts: readonly Pick<ArtifactRow, 'id' | 'index'>[]): Set<string> =>
  new Set(artifacts.flatMap((artifact) => artifactIndex(artifact).parts.map(({ name }) => name)))
