import { terminalRun } from '@berth/contract'
import { restoreJson } from '../../../platform/db/json-columns/backups.ts'
import type { RestoreRow, RunRow } from '../../../platform/db/tables/backups.ts'
import { type Job, job } from '../../../platform/jobs/declare.ts'
import { endOperation, enterStopped, enterUndoing, lockProject, waitUntilAlone } from '../../projects/index.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { BackupFailed, errorText, failureOf, internalText } from '../failures.ts'
import { mayStart } from '../may-start.ts'
import { restorePolicies } from '../policies/retired-policies.ts'
import { enqueuePrune } from '../runs/prune-kind.ts'
import { runToEnd } from '../runs/run-job.ts'
import { findRun } from '../runs/run-store.ts'
import { createSafetyRun } from '../runs/safety-run.ts'
import { enqueueSettle } from './apply.ts'
import { copiesOf, removeCopies } from './copies.ts'
import { endRestore, moveRestore, notify, notifyCancelled, RestoreIsOver, signalRestore } from './move-restore.ts'
import { type OpenedArchive, withArchive } from './opened-archive.ts'
import { applyRestore, type RestorePayload, type SettlePayload, settleRestore } from './restore-kinds.ts'
import {
  addWarnings,
  findRestore,
  type ProgressNote,
  progressOf,
  recordProgress,
  recordSafetyRun,
  updateRestore,
} from './restore-store.ts'
import { failVerification, verify } from './verify.ts'
import { writeBack, writeCopies } from './write-back.ts'

const hours = 3_600_000

export const applyJobs = (deps: BackupsDeps) => [applyJob(deps), settleJob(deps)]

const applyJob = (deps: BackupsDeps): Job<RestorePayload, unknown> =>
  job<RestorePayload, unknown>(applyRestore, {
    deadlineMs: 12 * hours,
    maxAttempts: 3,
    concurrency: deps.settings.maxBackups,
    async run({ restoreId }, _, abort) {
      const restore = await findRestore(deps.database.db, restoreId)
      // A restore that waits for a deployment is enqueued again when the deployment has ended.
      if (restore?.status === 'applying' && (await mayStart(restoreId, deps))) await apply(restore, deps, abort)
    },
    async onFailed({ restoreId }, { message }) {
      deps.log.error({ restoreId, message }, 'backups: restore failed, all attempts used up')
      await removeCopies(restoreId, deps)
      const restore = await findRestore(deps.database.db, restoreId)
      if (restore && progressOf(restore).touched) await settleLater(restore, deps)
      else await endRestore(restoreId, { ...internalFailure, dataState: 'untouched' }, deps)
    },
  })

const internalFailure = { status: 'server_error', code: 'internal', message: internalText } as const

const settleJob = (deps: BackupsDeps): Job<SettlePayload, unknown> =>
  job<SettlePayload, unknown>(settleRestore, {
    deadlineMs: 12 * hours,
    maxAttempts: 20,
    async run({ restoreId, isAbandoned, isEnding }, _, abort) {
      const restore = await findRestore(deps.database.db, restoreId)
      if (!restore) return
      await removeCopies(restoreId, deps)
      const isUndone = !isAbandoned && (await writePreviousData(restore, progressOf(restore), deps, abort))
      await finishSettling(restore, { dataState: isUndone ? 'undone' : restore.dataState, isEnding, isAbandoned }, deps)
    },
    async onFailed({ restoreId, isEnding, isAbandoned }, { message }) {
      const restore = await findRestore(deps.database.db, restoreId)
      deps.log.error({ restoreId, message }, 'backups: previous data not put back after an interrupted restore')
      if (restore) await finishSettling(restore, { dataState: restore.dataState, isEnding, isAbandoned }, deps)
    },
  })

/** Ends the operation and the restore's streams once nothing changes the project any more. */
async function finishSettling(
  restore: RestoreRow,
  { dataState, isEnding, isAbandoned }: Pick<RestoreRow, 'dataState'> & Pick<SettlePayload, 'isEnding' | 'isAbandoned'>,
  deps: BackupsDeps,
): Promise<void> {
  if (isEnding) {
    const { failure } = progressOf(restore)
    const ending = failure ? ({ status: 'failed', ...failure } as const) : internalFailure
    // Changes nothing if the restore was cancelled meanwhile: the job of the cancel follows and ends the operation.
    await endRestore(restore.id, { ...ending, dataState }, deps)
    return
  }
  await deps.database.transaction(async (transaction) => {
    await lockProject(transaction, restore.projectId)
    const isFirst = (await findRestore(transaction.db, restore.id))?.finishedAt === null
    await updateRestore(transaction.db, restore.id, { dataState, finishedAt: nowOf(deps) })
    await endOperation(restore.id, transaction)
    signalRestore(restore, transaction)
    // Without changed data, only the user who cancelled the restore needs to know.
    if (isFirst && progressOf(restore).touched && !isAbandoned) await notifyCancelled({ ...restore, dataState }, transaction)
  })
}

/** Applies a restore. May be repeated after a crash; the progress note says how far it was. */
async function apply(restore: RestoreRow, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  const progress = progressOf(restore)
  try {
    // After a crash while the previous data was being put back, only that step continues.
    if (progress.failure) throw new BackupFailed(progress.failure.code, progress.failure.message)
    await requireVerified(restore, deps, abort)
    const run = await findRun(deps.database.db, restore.runId)
    if (!run) throw new BackupFailed('pruned', 'The run was deleted')
    if (restore.target === 'copy') await withArchive(run, deps, abort, (opened) => writeCopies(restore, opened, deps, abort))
    else await restoreInPlace(restore, run, progress, deps, abort)
    await succeed(restore, deps)
  } catch (error) {
    if (error instanceof RestoreIsOver) return
    abort.throwIfAborted()
    const failure = failureOf(error) ?? (progress.touched ? { code: 'restore_failed', message: errorText(error) } : undefined)
    if (!failure) throw error
    await failRestore(restore, { ...progress, failure }, deps, abort)
  }
}

async function requireVerified(restore: RestoreRow, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  try {
    await verify(restore.id, deps, abort)
  } catch (error) {
    const failure = abort.aborted ? undefined : failureOf(error)
    if (!failure) throw error
    await failVerification(restore.id, { status: 'failed', ...failure }, deps)
    throw new RestoreIsOver()
  }
}

/**
 * Makes the safety run, then stops the project, writes the data and starts the project. Where it does not become healthy, the
 * old data is put back.
 */
async function restoreInPlace(
  restore: RestoreRow,
  run: RunRow,
  progress: ProgressNote,
  deps: BackupsDeps,
  abort: AbortSignal,
): Promise<void> {
  await withArchive(run, deps, abort, async (opened) => {
    await makeSafetyRun(restore, opened, progress, deps, abort)
    await restoreDeletedProject(restore, opened, deps, abort)
    await stopProjectStarts(restore, deps, abort)
    // A disabled project is not started.
    progress.wasOnline ??= (await deps.data.state(restore.projectId)) !== null
    const isFirst = !progress.touched
    progress.touched = true
    await recordProgress(deps.database.db, restore.id, progress)
    // Recorded only with a failure: after a crash it is unknown whether data was written.
    progress.isUnwritten = isFirst
    await deps.data.takeOffline(restore.projectId)
    await writeBack(restore, opened, deps, abort, () => {
      progress.isUnwritten = false
    })
  })
  if (progress.wasOnline) await bringOnline(restore, deps)
}

/** Prevents all other starts of the project; resolves when no other operation that could use its data is under way. */
async function stopProjectStarts({ id, projectId }: RestoreRow, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  await deps.database.transaction(async (transaction) => {
    await lockProject(transaction, projectId)
    if ((await findRestore(transaction.db, id))?.status !== 'applying') throw new RestoreIsOver()
    await enterStopped(id, transaction)
  })
  await waitUntilAlone(id, deps, abort)
}

/** Restores a deleted project: settings, variables and upload. An existing project is left unchanged. */
async function restoreDeletedProject(
  { id, organizationId }: RestoreRow,
  opened: OpenedArchive,
  deps: BackupsDeps,
  abort: AbortSignal,
) {
  const { store, archives, manifest } = opened
  const warnings = await deps.projects.restore(manifest.project, organizationId)
  if (warnings.length > 0) await addWarnings(deps.database.db, id, warnings)
  await restorePolicies(manifest.projectId, deps)
  const source = manifest.artifacts.find(({ kind }) => kind === 'source')
  if (!source) return
  const content = () => archives.read(source.index, { store, abort })
  await deps.projects.restoreUpload(manifest.project, organizationId, content)
}

async function bringOnline({ projectId }: RestoreRow, deps: BackupsDeps): Promise<void> {
  await deps.data.bringOnline(projectId).catch((cause: unknown) => {
    throw new BackupFailed('unhealthy', `The project is not healthy with the restored data: ${errorText(cause)}`, {
      cause,
    })
  })
}

/** Makes the safety run. For a deleted project it saves the volumes that the deletion kept. */
async function makeSafetyRun(
  restore: RestoreRow,
  { run, manifest }: OpenedArchive,
  progress: ProgressNote,
  deps: BackupsDeps,
  abort: AbortSignal,
): Promise<void> {
  if (progress.touched) return
  const hasVolumes = (await deps.data.volumes(restore.projectId)).length > 0
  const safety = await deps.database.transaction(async ({ db }) => {
    const safetyRow = await createSafetyRun(run, { restore, hasVolumes }, db, deps)
    if (safetyRow && !(await recordSafetyRun(db, restore.id, safetyRow.id))) throw new RestoreIsOver()
    return safetyRow
  })
  if (!safety) return
  await runToEnd(safety.id, deps, abort, manifest.project)
  const ended = await findRun(deps.database.db, safety.id)
  if (ended?.status === 'succeeded') return
  if (ended && !terminalRun.has(ended.status)) throw new Error('the safety run has not ended')
  throw new BackupFailed(
    'safety_run_failed',
    `The current data could not be backed up first, so nothing was changed: ${ended?.errorMessage ?? 'the safety run was deleted'}`,
  )
}

async function failRestore(
  restore: RestoreRow,
  progress: ProgressNote & Required<Pick<ProgressNote, 'failure'>>,
  deps: BackupsDeps,
  abort: AbortSignal,
) {
  const ending = { status: 'failed', ...progress.failure } as const
  await removeCopies(restore.id, deps)
  if (!progress.touched) {
    await endRestore(restore.id, { ...ending, dataState: 'untouched' }, deps)
    return
  }
  await recordProgress(deps.database.db, restore.id, progress)
  const current = (await findRestore(deps.database.db, restore.id)) ?? restore
  // True: put back. False: no safety run has the previous data. Undefined: it could not be written.
  const isUndone = await writePreviousData(current, progress, deps, abort).catch((error: unknown) => {
    abort.throwIfAborted()
    deps.log.warn({ err: error, restoreId: restore.id }, 'backups: previous data not put back after a failed restore')
    return undefined
  })
  if (isUndone === true) await endRestore(restore.id, { ...ending, dataState: 'undone' }, deps)
  else if (progress.isUnwritten) {
    await restartProject(restore, progress, deps, abort)
    await endRestore(restore.id, { ...ending, dataState: 'untouched' }, deps)
  } else if (isUndone === undefined) await settleLater(restore, deps)
  else await endRestore(restore.id, { ...ending, dataState: 'partly_written' }, deps)
}

/**
 * Retries writing the previous data: the cause of the failure (full disk, unreachable destination) is often temporary. The restore
 * ends after the retries.
 */
const settleLater = (restore: RestoreRow, deps: BackupsDeps): Promise<unknown> =>
  deps.database.transaction(async (transaction) => {
    await lockProject(transaction, restore.projectId)
    // A cancel has enqueued its own job.
    if ((await findRestore(transaction.db, restore.id))?.status !== 'applying') return
    await enterUndoing(restore.id, transaction)
    await enqueueSettle(restore, { restoreId: restore.id, isEnding: true }, transaction)
  })

/** Writes the data of the safety run back and starts a project that was online. A failed start does not undo the data. */
async function writePreviousData(
  restore: RestoreRow,
  progress: ProgressNote,
  deps: BackupsDeps,
  abort: AbortSignal,
): Promise<boolean> {
  if (!progress.touched) return false
  const safety = restore.preRestoreRunId === null ? undefined : await findRun(deps.database.db, restore.preRestoreRunId)
  if (safety?.status !== 'succeeded') return false
  await deps.data.takeOffline(restore.projectId)
  await withArchive(safety, deps, abort, (opened) => writeBack(restore, opened, deps, abort))
  await restartProject(restore, progress, deps, abort)
  return true
}

/** Starts a project that was online before the restore, on its data from then. */
async function restartProject({ id, projectId }: RestoreRow, { wasOnline }: ProgressNote, deps: BackupsDeps, abort: AbortSignal) {
  if (!wasOnline) return
  await deps.data.bringOnline(projectId).catch((error: unknown) => {
    abort.throwIfAborted()
    deps.log.warn({ err: error, restoreId: id }, 'backups: project start after restore rollback failed')
  })
}

/** Names the parts of an existing project that were not restored. */
function unchangedMessage(restore: RestoreRow): string {
  const { unchanged = [] } = restoreJson.report(restore) ?? {}
  return unchanged.length > 0 ? `Not changed: ${unchanged.join(', ')}.` : ''
}

async function succeed({ id, target }: RestoreRow, deps: BackupsDeps): Promise<void> {
  await deps.database.transaction(async (transaction) => {
    const restore = await moveRestore(id, 'succeeded', transaction, deps, {
      dataState: target === 'copy' ? 'untouched' : 'restored',
    })
    if (!restore) throw new RestoreIsOver()
    await enqueuePrune(restore.projectId, transaction)
    const undo = restore.preRestoreRunId ? ` The previous data is in run ${restore.preRestoreRunId}.` : ''
    const names = copiesOf(restore).map(({ name }) => name)
    const message =
      target === 'copy'
        ? `The data was restored into new volumes: ${names.join(', ') || 'none, because the backup contains no data'}.`
        : `The data was restored from the backup. ${unchangedMessage(restore)}${undo}`.replaceAll('  ', ' ')
    await notify(restore, message, 'restore.completed', transaction)
  })
}
