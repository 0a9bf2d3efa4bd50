import { createHash, randomBytes } from 'node:crypto'
import type { BackupPayload } from '@berth/contract'
import { terminalRun } from '@berth/contract'
import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import { policyJson } from '../../../platform/db/json-columns/backups.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { RunRow } from '../../../platform/db/tables/backups.ts'
import { lockProject, type SavedProject } from '../../projects/index.ts'
import { folderOf, type ManifestArtifact, manifestNameOf, manifestOf } from '../content/manifest.ts'
import { removeAll } from '../content/remove-objects.ts'
import { contentOf } from '../content/saved-content.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { findDestination } from '../destinations/destination-store.ts'
import { openStore } from '../destinations/open-store.ts'
import { BackupFailed } from '../failures.ts'
import { findPolicy } from '../policy-store.ts'
import { checkBeforeRun, forgetCheck } from './checked-destinations.ts'
import { runPostCommand, runPreCommand } from './commands.ts'
import { advanceRun, moveRun, RunIsOver } from './move-run.ts'
import { enqueuePrune } from './prune-kind.ts'
import { readBack, type WrittenManifest } from './read-back.ts'
import { deleteArtifacts, findRun, updateRun } from './run-store.ts'
import type { RunContext, RunSettings } from './run-work.ts'
import { isReused, totalOf, upload } from './upload.ts'

const defaultPayload: BackupPayload = { volumes: 'all', databases: 'auto', exclude: [] }

/**
 * Performs a run from reading the project's data to success. May be repeated after a crash at any step: then all of it is done
 * again under the same names. Rejects without ending the run; the caller does that. `deleted` is the record of a deleted
 * project, for the manifest of a safety run of its kept volumes.
 */
export async function performRun(runId: string, deps: BackupsDeps, abort: AbortSignal, deleted?: SavedProject): Promise<void> {
  const run = await findRun(deps.database.db, runId)
  if (!run || terminalRun.has(run.status)) return
  const settings = await settingsOf(run, deps)
  if (run.postCommandState === 'due') await runPostCommand(run, settings, deps, abort)
  await advanceRun(run.id, 'preparing', deps, { startedAt: run.startedAt ?? nowOf(deps) })
  const attempt = await beginAttempt(run, deps)
  const store = await storeOf(run, deps, abort)
  try {
    const work: RunContext = { run, attempt, settings, store, archives: await deps.archives(), deps, abort }
    await checkBeforeRun(run, store, deps, abort)
    if (attempt !== null) await removeAll(store, folderOf(run), abort)
    const { artifacts, warning } = await saveAll(work)
    const manifest = await writeManifest(work, artifacts, deleted)
    await advanceRun(run.id, 'verifying', deps)
    await readBack(work, artifacts, manifest)
    await succeed(work, { artifacts, warning, manifest })
  } catch (error) {
    forgetCheck(run, deps)
    // A later attempt may have removed the objects of this one: then the run itself has not failed.
    if (!(await isNewest(run, attempt, deps.database.db).catch(() => true))) throw new RunIsOver()
    throw error
  } finally {
    await store.close()
  }
}

/**
 * Records this attempt as the newest; only the newest attempt may end the run. An earlier attempt that was presumed dead may
 * still be running, and its objects are removed. Returns the attempt's name, null for the first attempt.
 */
const beginAttempt = (run: RunRow, deps: BackupsDeps): Promise<string | null> =>
  deps.database.transaction(async (transaction) => {
    await lockProject(transaction, run.projectId)
    const current = await findRun(transaction.db, run.id)
    if (!current || terminalRun.has(current.status)) throw new RunIsOver()
    const isFirst = run.status === 'queued' && current.manifestName === null
    const attempt = isFirst ? null : randomBytes(4).toString('hex')
    await updateRun(transaction.db, run.id, { manifestName: manifestNameOf(run, attempt) })
    await deleteArtifacts(transaction.db, run.id)
    return attempt
  })

const isNewest = async (run: RunRow, attempt: string | null, db: Db): Promise<boolean> =>
  (await findRun(db, run.id))?.manifestName === manifestNameOf(run, attempt)

/** A safety run saves all data that may be replaced, and runs no commands, since no service may be running. */
async function settingsOf({ policyId, trigger }: RunRow, { database: { db } }: BackupsDeps): Promise<RunSettings> {
  const policy = policyId === null ? undefined : await findPolicy(db, policyId)
  if (!policy || trigger === 'pre_restore') return { preCommand: null, postCommand: null, payload: defaultPayload }
  const payload = { ...defaultPayload, ...policyJson.payload(policy) }
  return { preCommand: policy.preCommand, postCommand: policy.postCommand, payload }
}

export async function storeOf({ destinationId }: RunRow, deps: BackupsDeps, abort: AbortSignal): Promise<ArchiveStore> {
  const destination = destinationId === null ? undefined : await findDestination(deps.database.db, destinationId)
  if (!destination) throw new BackupFailed('destination_gone', 'The destination was deleted')
  return openStore(destination, deps, abort)
}

interface SavedData {
  artifacts: ManifestArtifact[]
  warning: string | null
}

/** The post-command runs as soon as all data was read, and also when reading failed. */
async function saveAll(work: RunContext): Promise<SavedData> {
  const { run, settings, deps, abort } = work
  const [saved] = await Promise.allSettled([readAll(work)])
  // If this process is stopping, the process that resumes the run begins with the post-command.
  if (settings.postCommand && !abort.aborted)
    await runPostCommand(run, settings, deps, abort).catch((error: unknown) => {
      if (saved.status === 'fulfilled') throw error
      deps.log.warn({ err: error, runId: run.id }, 'backups: post-command of a failed run failed')
    })
  if (saved.status === 'rejected') throw saved.reason
  return saved.value
}

async function readAll(work: RunContext): Promise<SavedData> {
  const { run, settings, deps, abort } = work
  await runPreCommand(run, settings, deps, abort)
  await advanceRun(run.id, 'dumping', deps)
  const isSafety = run.trigger === 'pre_restore'
  const request = { projectId: run.projectId, serviceId: run.serviceId, payload: settings.payload, isSafety }
  const { content, warning } = await contentOf(request, deps, abort)
  await advanceRun(run.id, 'uploading', deps, { bytesTotal: totalOf(content), bytesDone: 0 })
  return { artifacts: await upload(content, work), warning }
}

async function writeManifest(
  { run, attempt, store, archives, deps, abort }: RunContext,
  artifacts: ManifestArtifact[],
  deleted: SavedProject | undefined,
): Promise<WrittenManifest> {
  const project = (await deps.projects.save(run.projectId)) ?? deleted
  if (!project) throw new BackupFailed('project_gone', 'The project was deleted during the operation')
  const manifest = manifestOf(run, { project, artifacts, version: deps.version, now: deps.clock.now() })
  const sealed = await archives.seal(Buffer.from(JSON.stringify(manifest)))
  const name = manifestNameOf(run, attempt)
  await store.put(name, singleChunk(sealed), abort)
  return { name, sha256: createHash('sha256').update(sealed).digest('hex'), sizeBytes: sealed.length }
}

async function* singleChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function succeed(
  { run, attempt, archives, deps }: RunContext,
  { artifacts, warning, manifest }: SavedData & { manifest: WrittenManifest },
): Promise<void> {
  const sizeBytes = artifacts.reduce((sum, { index }) => sum + index.sizeBytes, manifest.sizeBytes)
  const unchanged = artifacts.filter(({ index }) => isReused(index))
  await deps.database.transaction(async (transaction) => {
    await lockProject(transaction, run.projectId)
    if (!(await isNewest(run, attempt, transaction.db))) throw new RunIsOver()
    const changes = {
      sizeBytes,
      manifestSha256: manifest.sha256,
      recipient: archives.recipient,
      warning,
      errorCode: null,
      errorMessage: null,
    }
    const updated = await moveRun(run.id, 'succeeded', transaction, deps, changes)
    if (!updated) throw new RunIsOver()
    await enqueuePrune(run.projectId, transaction)
    await transaction.announce('backup.succeeded', {
      organizationId: run.organizationId,
      projectId: run.projectId,
      subject: `${run.projectName} was backed up`,
      text: `${warning ? `${warning} ` : ''}Stored and read back: ${artifacts.length} ${artifacts.length === 1 ? 'item' : 'items'}, ${unchanged.length} of them unchanged. The run is ${run.id}. Only the key of this instance opens it (backup.key in the data folder, ${archives.recipient}): keep a copy of that file elsewhere.`,
      data: { runId: run.id, policyId: run.policyId, trigger: run.trigger, sizeBytes },
    })
  })
}
