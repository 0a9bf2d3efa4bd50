import { terminalRun } from '@berth/contract'
import { restoreJson } from '../../../platform/db/json-columns/backups.ts'
import type { RestoreRow, RunRow } from '../../../platform/db/tables/backups.ts'
import { type Job, job } from '../../../platform/jobs/declare.ts'
import { endOperation, enterStopped, enterUndoing, lockProject, waitUntilAlone } from '../../projects/index.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { BackupFailed, errorText, failureOf, internalText } from '../failures.ts'
import { mayBegin } from '../may-begin.ts'
import { bringPoliciesBack } from '../policies/retired-policies.ts'
import { prunePlan } from '../runs/prune-kind.ts'
import { runToItsEnd } from '../runs/run-job.ts'
import { findRun } from '../runs/run-store.ts'
import { safetyRun } from '../runs/safety-run.ts'
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
      // Where it waits for a deployment, it is enqueued again when that has ended.
      if (restore?.status === 'applying' && (await mayBegin(restoreId, deps))) await apply(restore, deps, abort)
    },
    async onFailed({ restoreId }, { message }) {
      deps.log.error({ restoreId, message }, 'backups: restore attempts used up')
      await removeCopies(restoreId, deps)
      const restore = await findRestore(deps.database.db, restoreId)
      if (restore && progressOf(restore).touched) await settleLater(restore, deps)
      else await endRestore(restoreId, { ...ourFault, dataState: 'untouched' }, deps)
    },
  })

const ourFault = { status: 'server_error', code: 'internal', message: internalText } as const

const settleJob = (deps: BackupsDeps): Job<SettlePayload, unknown> =>
  job<SettlePayload, unknown>(settleRestore, {
    deadlineMs: 12 * hours,
    maxAttempts: 20,
    async run({ restoreId, isAbandoned, isEnding }, _, abort) {
      const restore = await findRestore(deps.database.db, restoreId)
      if (!restore) return
      await removeCopies(restoreId, deps)
      const undone = !isAbandoned && (await putBack(restore, progressOf(restore), deps, abort))
      await settled(restore, { dataState: undone ? 'undone' : restore.dataState, isEnding, isAbandoned }, deps)
    },
    async onFailed({ restoreId, isEnding, isAbandoned }, { message }) {
      const restore = await findRestore(deps.database.db, restoreId)
      deps.log.error({ restoreId, message }, 'backups: data before an interrupted restore not put back')
      if (restore) await settled(restore, { dataState: restore.dataState, isEnding, isAbandoned }, deps)
    },
  })

/** Ends the operation and the restore's streams, once nothing of the project changes any more. */
async function settled(
  restore: RestoreRow,
  { dataState, isEnding, isAbandoned }: Pick<RestoreRow, 'dataState'> & Pick<SettlePayload, 'isEnding' | 'isAbandoned'>,
  deps: BackupsDeps,
): Promise<void> {
  // Where the restore was cancelled meanwhile, the cancel's own job follows and ends the operation.
  const { failure } = progressOf(restore)
  const ending = failure ? ({ status: 'failed', ...failure } as const) : ourFault
  if (isEnding) return void (await endRestore(restore.id, { ...ending, dataState }, deps))
  await deps.database.transaction(async (bound) => {
    await lockProject(bound, restore.projectId)
    const isFirst = (await findRestore(bound.db, restore.id))?.finishedAt === null
    await updateRestore(bound.db, restore.id, { dataState, finishedAt: nowOf(deps) })
    await endOperation(restore.id, bound)
    signalRestore(restore, bound)
    // Where nothing was written, only the user who cancelled it needs to know.
    if (isFirst && progressOf(restore).touched && !isAbandoned) await notifyCancelled({ ...restore, dataState }, bound)
  })
}

/** Applies a restore. May be repeated after a crash; the progress note says how far it was. */
async function apply(restore: RestoreRow, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  const note = progressOf(restore)
  try {
    // After a crash while the old data was being put back, that continues; the restore does not.
    if (note.failure) throw new BackupFailed(note.failure.code, note.failure.message)
    await verified(restore, deps, abort)
    const run = await findRun(deps.database.db, restore.runId)
    if (!run) throw new BackupFailed('pruned', 'The run was deleted')
    if (restore.target === 'copy') await withArchive(run, deps, abort, (opened) => writeCopies(restore, opened, deps, abort))
    else await inPlace(restore, run, note, deps, abort)
    await succeed(restore, deps)
  } catch (error) {
    if (error instanceof RestoreIsOver) return
    abort.throwIfAborted()
    const failure = failureOf(error) ?? (note.touched ? { code: 'restore_failed', message: errorText(error) } : undefined)
    if (!failure) throw error
    await giveUp(restore, { ...note, failure }, deps, abort)
  }
}

async function verified(restore: RestoreRow, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
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
async function inPlace(
  restore: RestoreRow,
  run: RunRow,
  note: ProgressNote,
  deps: BackupsDeps,
  abort: AbortSignal,
): Promise<void> {
  await withArchive(run, deps, abort, async (opened) => {
    await saveFirst(restore, opened, note, deps, abort)
    await bringBack(restore, opened, deps, abort)
    await stopOthers(restore, deps, abort)
    // A disabled project is not started.
    note.wasOnline ??= (await deps.data.state(restore.projectId)) !== null
    const isFirst = !note.touched
    note.touched = true
    await recordProgress(deps.database.db, restore.id, note)
    // Recorded only with a failure: after a crash it is unknown whether data was written.
    note.isUnwritten = isFirst
    await deps.data.takeOffline(restore.projectId)
    await writeBack(restore, opened, deps, abort, () => {
      note.isUnwritten = false
    })
  })
  if (note.wasOnline) await online(restore, deps)
}

/** Prevents all other starts of the project; resolves when no other operation that could use its data is under way. */
async function stopOthers({ id, projectId }: RestoreRow, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  await deps.database.transaction(async (bound) => {
    await lockProject(bound, projectId)
    if ((await findRestore(bound.db, id))?.status !== 'applying') throw new RestoreIsOver()
    await enterStopped(id, bound)
  })
  await waitUntilAlone(id, deps, abort)
}

/** Restores a deleted project: settings, variables and upload. An existing project is left unchanged. */
async function bringBack({ id, organizationId }: RestoreRow, opened: OpenedArchive, deps: BackupsDeps, abort: AbortSignal) {
  const { store, archives, manifest } = opened
  const warnings = await deps.projects.bringBack(manifest.project, organizationId)
  if (warnings.length > 0) await addWarnings(deps.database.db, id, warnings)
  await bringPoliciesBack(manifest.projectId, deps)
  const source = manifest.artifacts.find(({ kind }) => kind === 'source')
  if (!source) return
  const content = () => archives.read(source.index, { store, abort })
  await deps.projects.bringUploadBack(manifest.project, organizationId, content)
}

async function online({ projectId }: RestoreRow, deps: BackupsDeps): Promise<void> {
  await deps.data.bringOnline(projectId).catch((cause: unknown) => {
    throw new BackupFailed('unhealthy', `The project is not healthy with the restored data: ${errorText(cause)}`, {
      cause,
    })
  })
}

/** Makes the undo point. For a deleted project it saves the volumes that the deletion kept. */
async function saveFirst(
  restore: RestoreRow,
  { run, manifest }: OpenedArchive,
  note: ProgressNote,
  deps: BackupsDeps,
  abort: AbortSignal,
): Promise<void> {
  if (note.touched) return
  const hasVolumes = (await deps.data.volumes(restore.projectId)).length > 0
  const safety = await deps.database.transaction(async ({ db }) => {
    const made = await safetyRun(run, { restore, hasVolumes }, db, deps)
    if (made && !(await recordSafetyRun(db, restore.id, made.id))) throw new RestoreIsOver()
    return made
  })
  if (!safety) return
  await runToItsEnd(safety.id, deps, abort, manifest.project)
  const ended = await findRun(deps.database.db, safety.id)
  if (ended?.status === 'succeeded') return
  if (ended && !terminalRun.has(ended.status)) throw new Error('the safety run has not ended')
  throw new BackupFailed(
    'safety_run_failed',
    `The current data could not be backed up first, so nothing was changed: ${ended?.errorMessage ?? 'the safety run was deleted'}`,
  )
}

async function giveUp(
  restore: RestoreRow,
  note: ProgressNote & Required<Pick<ProgressNote, 'failure'>>,
  deps: BackupsDeps,
  abort: AbortSignal,
) {
  const ending = { status: 'failed', ...note.failure } as const
  await removeCopies(restore.id, deps)
  if (!note.touched) return void (await endRestore(restore.id, { ...ending, dataState: 'untouched' }, deps))
  await recordProgress(deps.database.db, restore.id, note)
  const current = (await findRestore(deps.database.db, restore.id)) ?? restore
  const undone = await putBack(current, note, deps, abort).catch((error: unknown) => {
    abort.throwIfAborted()
    deps.log.warn({ err: error, restoreId: restore.id }, 'backups: data before a failed restore not put back yet')
    return undefined
  })
  if (undone === undefined && !note.isUnwritten) return void (await settleLater(restore, deps))
  const isWhole = !undone && note.isUnwritten === true
  if (isWhole) await startAgain(restore, note, deps, abort)
  const dataState = isWhole ? 'untouched' : 'partly_written'
  await endRestore(restore.id, { ...ending, dataState: undone ? 'undone' : dataState }, deps)
}

/**
 * A cause that prevents putting the old data back (full disk, unreachable destination) is often temporary. The restore ends
 * after the retries.
 */
const settleLater = (restore: RestoreRow, deps: BackupsDeps): Promise<unknown> =>
  deps.database.transaction(async (bound) => {
    await lockProject(bound, restore.projectId)
    // A cancel has enqueued its own job.
    if ((await findRestore(bound.db, restore.id))?.status !== 'applying') return
    await enterUndoing(restore.id, bound)
    await enqueueSettle(restore, { restoreId: restore.id, isEnding: true }, bound)
  })

/** Writes the data of the safety run back and starts a project that was online. A failed start does not undo the data. */
async function putBack(restore: RestoreRow, note: ProgressNote, deps: BackupsDeps, abort: AbortSignal): Promise<boolean> {
  if (!note.touched) return false
  const safety = restore.preRestoreRunId === null ? undefined : await findRun(deps.database.db, restore.preRestoreRunId)
  if (safety?.status !== 'succeeded') return false
  await deps.data.takeOffline(restore.projectId)
  await withArchive(safety, deps, abort, (opened) => writeBack(restore, opened, deps, abort))
  await startAgain(restore, note, deps, abort)
  return true
}

/** Starts a project that was online before the restore, on its data from then. */
async function startAgain({ id, projectId }: RestoreRow, { wasOnline }: ProgressNote, deps: BackupsDeps, abort: AbortSignal) {
  if (!wasOnline) return
  await deps.data.bringOnline(projectId).catch((error: unknown) => {
    abort.throwIfAborted()
    deps.log.warn({ err: error, restoreId: id }, 'backups: project start after restore rollback failed')
  })
}

/** Names the parts of an existing project that were not restored. */
function unchangedText(restore: RestoreRow): string {
  const { unchanged = [] } = restoreJson.report(restore) ?? {}
  return unchanged.length > 0 ? `Not changed: ${unchanged.join(', ')}.` : ''
}

async function succeed({ id, target }: RestoreRow, deps: BackupsDeps): Promise<void> {
  await deps.database.transaction(async (bound) => {
    const restore = await moveRestore(id, 'succeeded', bound, deps, { dataState: target === 'copy' ? 'untouched' : 'restored' })
    if (!restore) throw new RestoreIsOver()
    await prunePlan(restore.projectId, bound)
    const undo = restore.preRestoreRunId ? ` The previous data is in run ${restore.preRestoreRunId}.` : ''
    const names = copiesOf(restore).map(({ name }) => name)
    const message =
      target === 'copy'
        ? `The data was restored into new volumes: ${names.join(', ') || 'none, because the backup contains no data'}.`
        : `The data was restored from the backup. ${unchangedText(restore)}${undo}`.replaceAll('  ', ' ')
    await notify(restore, message, 'restore.completed', bound)
  })
}
