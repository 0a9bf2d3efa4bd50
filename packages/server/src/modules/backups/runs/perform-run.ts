import { createHash } from 'node:crypto'
import type { BackupPayload } from '@berth/contract'
import { terminalRun } from '@berth/contract'
import type { ArchiveIndex, ArchivePart, Archives } from '../../../drivers/archive/archive.ts'
import { partsThere } from '../../../drivers/archive/parts-there.ts'
import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import { newId } from '../../../platform/db/ids.ts'
import type { PolicyRow, RunRow } from '../../../platform/db/tables/backups.ts'
import { folderOf, type ManifestArtifact, manifestNameOf, manifestOf } from '../content/manifest.ts'
import { contentOf, type SavedContent } from '../content/saved-content.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { findDestination } from '../destinations/destination-store.ts'
import { openStore } from '../destinations/open-store.ts'
import { BackupFailed } from '../failures.ts'
import { findPolicy } from '../policies/policy-store.ts'
import { runPostCommand, runPreCommand } from './commands.ts'
import { advanceRun, moveRun, RunIsOver } from './move-run.ts'
import { prunePlan } from './prune-kind.ts'
import { RowProgress } from './run-progress.ts'
import { earlierIndexes, findRun, forgetArtifacts, insertArtifact, updateRun } from './run-store.ts'
import { runTopic } from './start-run.ts'

const everything: BackupPayload = { volumes: 'all', databases: 'auto', exclude: [] }

type Settings = Pick<PolicyRow, 'preCommand' | 'postCommand'> & { payload: BackupPayload }

/** What every step works with. */
interface Work {
  run: RunRow
  settings: Settings
  store: ArchiveStore
  archives: Archives
  deps: BackupsDeps
  abort: AbortSignal
}

/**
 * From what lies in the project to a run that has succeeded. May be begun again after a crash, at whatever step it was: then
 * all of it is done anew under the same names. Rejects without having ended the run; whoever called does that.
 */
export async function performRun(runId: string, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  const run = await findRun(deps.database.db, runId)
  if (!run || terminalRun.has(run.status)) return
  const settings = await settingsOf(run, deps)
  if (run.postCommandState === 'due') await runPostCommand(run, settings, deps, abort)
  await advanceRun(run.id, 'preparing', deps, { startedAt: run.startedAt ?? nowOf(deps) })
  await forgetArtifacts(deps.database.db, run.id)
  const store = await storeOf(run, deps, abort)
  try {
    const work: Work = { run, settings, store, archives: await deps.archives(), deps, abort }
    await store.check(abort)
    const artifacts = await saveAll(work)
    const manifest = await writeManifest(work, artifacts)
    await advanceRun(run.id, 'verifying', deps)
    await verifyAll(work, artifacts, manifest)
    await succeed(work, artifacts, manifest)
  } finally {
    await store.close()
  }
}

/** A safety run saves all that may be replaced, whether or not anything runs that a command could be run in. */
async function settingsOf({ policyId, trigger }: RunRow, { database: { db } }: BackupsDeps): Promise<Settings> {
  const policy = policyId === null ? undefined : await findPolicy(db, policyId)
  if (!policy || trigger === 'pre_restore') return { preCommand: null, postCommand: null, payload: everything }
  const payload = { ...everything, ...JSON.parse(policy.payload) }
  return { preCommand: policy.preCommand, postCommand: policy.postCommand, payload }
}

export async function storeOf({ destinationId }: RunRow, deps: BackupsDeps, abort: AbortSignal): Promise<ArchiveStore> {
  const destination = destinationId === null ? undefined : await findDestination(deps.database.db, destinationId)
  if (!destination) throw new BackupFailed('destination_gone', 'The destination was deleted')
  return openStore(destination, deps, abort)
}

/** The post-command runs as soon as all was read, and also when reading failed. */
async function saveAll(work: Work): Promise<ManifestArtifact[]> {
  const { run, settings, deps, abort } = work
  const [saved] = await Promise.allSettled([readAll(work)])
  // Where this process is told to stop, whoever takes the run up again begins with it.
  if (settings.postCommand && !abort.aborted)
    await runPostCommand(run, settings, deps, abort).catch((error: unknown) => {
      if (saved.status === 'fulfilled') throw error
      deps.log.warn({ err: error, runId: run.id }, 'the post-command of a backup run failed, as the run had')
    })
  if (saved.status === 'rejected') throw saved.reason
  return saved.value
}

async function readAll(work: Work): Promise<ManifestArtifact[]> {
  const { run, settings, deps, abort } = work
  await runPreCommand(run, settings, deps, abort)
  await advanceRun(run.id, 'dumping', deps)
  const wanted = { projectId: run.projectId, serviceId: run.serviceId, payload: settings.payload }
  const content = await contentOf(wanted, deps.data, abort)
  await advanceRun(run.id, 'uploading', deps, { bytesTotal: totalOf(content), bytesDone: 0 })
  return upload(content, work)
}

const totalOf = (content: readonly SavedContent[]): number | null =>
  content.reduce<number | null>(
    (sum, { estimatedBytes }) => (sum === null || estimatedBytes === null ? null : sum + estimatedBytes),
    0,
  )

async function upload(content: readonly SavedContent[], work: Work): Promise<ManifestArtifact[]> {
  const { run, store, archives, deps, abort } = work
  const { db } = deps.database
  const earlier = await reusable(work)
  const progress = new RowProgress(runTopic(run.id), totalOf(content), (bytesDone) => updateRun(db, run.id, { bytesDone }), deps)
  const artifacts: ManifestArtifact[] = []
  for (const [position, { name, kind, extension, details, read }] of content.entries()) {
    const before = progress.bytesDone
    const index = await archives.write(read(abort), {
      store,
      base: `${folderOf(run)}${String(position).padStart(3, '0')}-${name.replace(/[^A-Za-z0-9_-]+/g, '-')}`,
      extension,
      earlier,
      onProgress: ({ plainBytes }) => progress.at(before + plainBytes),
      abort,
    })
    progress.at(before + index.plainBytes)
    artifacts.push({ name, kind, details, index })
    await insertArtifact(db, {
      id: newId('bkr'),
      runId: run.id,
      destinationId: run.destinationId,
      name,
      kind,
      reused: index.parts.length > 0 && index.parts.every(({ reused }) => reused),
      sizeBytes: index.sizeBytes,
      sha256: index.sha256,
      index: JSON.stringify(index),
      details: JSON.stringify(details),
      position,
    })
  }
  await progress.settled()
  await updateRun(db, run.id, { bytesDone: progress.bytesDone, bytesTotal: progress.bytesDone })
  return artifacts
}

/** Parts that good runs of the project have stored at this destination and that are there: the same content is not stored twice. */
async function reusable({ run, store, deps, abort }: Work): Promise<ReadonlyMap<string, ArchivePart>> {
  const indexes = await earlierIndexes(deps.database.db, run)
  const parts = indexes.flatMap((text) => (JSON.parse(text) as ArchiveIndex).parts)
  return parts.length === 0 ? new Map() : partsThere(store, `${run.projectId}/`, parts, abort)
}

interface WrittenManifest {
  name: string
  sha256: string
  sizeBytes: number
}

async function writeManifest(
  { run, store, archives, deps, abort }: Work,
  artifacts: ManifestArtifact[],
): Promise<WrittenManifest> {
  const project = await deps.projects.save(run.projectId)
  if (!project) throw new BackupFailed('project_gone', 'The project was deleted meanwhile')
  const manifest = manifestOf(run, { project, artifacts, version: deps.version, now: deps.clock.now() })
  const sealed = await archives.seal(Buffer.from(JSON.stringify(manifest)))
  const name = manifestNameOf(run)
  await store.put(name, one(sealed), abort)
  return { name, sha256: createHash('sha256').update(sealed).digest('hex'), sizeBytes: sealed.length }
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Read back from the destination's side and compared: what it says it stored proves nothing. */
async function verifyAll({ store, archives, abort }: Work, artifacts: readonly ManifestArtifact[], manifest: WrittenManifest) {
  for (const { index } of artifacts) await archives.verify(index, { store, abort })
  const hash = createHash('sha256')
  for await (const chunk of store.get(manifest.name, abort)) hash.update(chunk)
  if (hash.digest('hex') !== manifest.sha256)
    throw new BackupFailed('destination_corrupt', 'The destination gave back another manifest than the one that was stored')
}

async function succeed({ run, deps }: Work, artifacts: readonly ManifestArtifact[], manifest: WrittenManifest): Promise<void> {
  const sizeBytes = artifacts.reduce((sum, { index }) => sum + index.sizeBytes, manifest.sizeBytes)
  const unchanged = artifacts.filter(({ index }) => index.parts.length > 0 && index.parts.every(({ reused }) => reused))
  await deps.database.transaction(async (bound) => {
    const changes = {
      sizeBytes,
      manifestName: manifest.name,
      manifestSha256: manifest.sha256,
      errorCode: null,
      errorMessage: null,
    }
    const done = await moveRun(run.id, 'succeeded', bound, deps, changes)
    if (!done) throw new RunIsOver()
    await prunePlan(run.projectId, bound)
    await bound.announce('backup.succeeded', {
      organizationId: run.organizationId,
      projectId: run.projectId,
      subject: `${run.projectName} was backed up`,
      text: `Stored and read back: ${artifacts.length} ${artifacts.length === 1 ? 'item' : 'items'}, ${unchanged.length} of them unchanged. The run is ${run.id}.`,
      data: { runId: run.id, policyId: run.policyId, trigger: run.trigger, sizeBytes },
    })
  })
}
