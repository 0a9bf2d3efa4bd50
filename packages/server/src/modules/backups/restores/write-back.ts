import { tarEnd } from '../../../drivers/tar/tar-header.ts'
import { fileEntry } from '../../../drivers/tar/write-tar.ts'
import type { RestoreRow } from '../../../platform/db/tables/backups.ts'
import type { DumpDetails, RunningUnit } from '../content/database-kind.ts'
import { databaseKind } from '../content/databases.ts'
import type { ManifestArtifact } from '../content/manifest.ts'
import type { BackupsDeps } from '../deps.ts'
import { BackupFailed } from '../failures.ts'
import { RowProgress } from '../runs/run-progress.ts'
import { copyName, recordCopy } from './copies.ts'
import { diskLimitOfCopies, type RestoreDiskLimit } from './disk-bound.ts'
import { restoreTopic } from './move-restore.ts'
import type { OpenedArchive } from './opened-archive.ts'
import { updateRestore } from './restore-store.ts'

interface WriteContext {
  restore: RestoreRow
  opened: OpenedArchive
  bytesTotal: number
  progress: RowProgress
  deps: BackupsDeps
  abort: AbortSignal
  /** Disk limit of a restore to copies. Null: the project's own volumes are replaced, which its own limit covers. */
  diskLimit: RestoreDiskLimit | null
  /** Called once data of the project was replaced, or may have been. */
  onWritten?: () => void
}

/**
 * Writes the archive to the project's own volumes, while the project is stopped: files first, then databases with their own
 * tools.
 */
export async function writeBack(
  restore: RestoreRow,
  opened: OpenedArchive,
  deps: BackupsDeps,
  abort: AbortSignal,
  onWritten?: () => void,
): Promise<void> {
  const { artifacts } = opened.manifest
  const started = await startWriting(restore, opened, deps, abort)
  const context: WriteContext = { ...started, diskLimit: null, ...(onWritten ? { onWritten } : {}) }
  for (const artifact of artifacts) {
    if (artifact.kind === 'volume') await writeVolume((artifact.details as { volume: string }).volume, artifact, context)
    else if ((artifact.details as DumpDetails).file) await writeFile(artifact, context)
  }
  const dumps = artifacts.filter(({ kind, details }) => databaseKind(kind)?.load && !(details as DumpDetails).file)
  if (dumps.length > 0) await loadDatabases(dumps, context)
  await finishWriting(context)
}

/** Writes the archive to new volumes; a database's dump is a file in one. Nothing is stopped. */
export async function writeCopies(
  restore: RestoreRow,
  opened: OpenedArchive,
  deps: BackupsDeps,
  abort: AbortSignal,
): Promise<void> {
  const artifacts = opened.manifest.artifacts.filter(({ kind }) => kind !== 'source')
  const diskLimit = await diskLimitOfCopies(restore, deps)
  diskLimit.requireFits(artifacts.reduce((sum, { index }) => sum + index.plainBytes, 0))
  const context: WriteContext = { ...(await startWriting(restore, opened, deps, abort)), diskLimit }
  for (const artifact of artifacts) {
    const name = copyName(restore, artifact)
    if (artifact.kind === 'volume') await writeVolume(name, artifact, context)
    else await writeToVolume(name, asFile(`dump.${artifact.kind}`, artifact, context), context)
  }
  await finishWriting(context)
}

async function startWriting(
  restore: RestoreRow,
  opened: OpenedArchive,
  deps: BackupsDeps,
  abort: AbortSignal,
): Promise<Omit<WriteContext, 'diskLimit'>> {
  // The source is restored separately, before anything is written.
  const written = opened.manifest.artifacts.filter(({ kind }) => kind !== 'source')
  const bytesTotal = written.reduce((sum, { index }) => sum + index.sizeBytes, 0)
  const { db } = deps.database
  await updateRestore(db, restore.id, { bytesTotal, bytesDone: 0 })
  const saveProgress = (bytesDone: number) => updateRestore(db, restore.id, { bytesDone })
  const progress = new RowProgress(restoreTopic(restore.id), bytesTotal, saveProgress, deps)
  return { restore, opened, bytesTotal, progress, deps, abort }
}

/** Records the full byte count before the restore ends. */
async function finishWriting({ restore, bytesTotal, progress, deps }: WriteContext): Promise<void> {
  await progress.waitUntilStored()
  await updateRestore(deps.database.db, restore.id, { bytesDone: bytesTotal })
}

function contentOf({ index }: ManifestArtifact, { opened, progress, abort }: WriteContext): AsyncIterable<Uint8Array> {
  const before = progress.bytesDone
  return opened.archives.read(index, { store: opened.store, abort, onProgress: (bytes) => progress.update(before + bytes) })
}

const writeVolume = (name: string, artifact: ManifestArtifact, context: WriteContext) =>
  writeToVolume(name, contentOf(artifact, context), context)

/** The runtime writes beside the volume and swaps the two: a failed write leaves the volume unchanged. */
async function writeToVolume(name: string, tar: AsyncIterable<Uint8Array>, context: WriteContext): Promise<void> {
  const { restore, diskLimit, deps, abort, onWritten } = context
  // A new volume is created where the project's other volumes are.
  const volumes = await deps.data.volumes(restore.projectId)
  const serverId = volumes[0]?.serverId ?? null
  const isCopy = restore.target === 'copy'
  const volume = await deps.data.volume(restore.projectId, name, serverId, isCopy ? restore.runId : undefined)
  if (isCopy) await recordCopy(restore.id, volume, deps)
  await deps.data.runtimeFor(volume.serverId).writeVolume(volume.id, diskLimit ? diskLimit.limitBytes(tar) : tar, abort)
  onWritten?.()
}

async function writeFile(artifact: ManifestArtifact, context: WriteContext): Promise<void> {
  const { file } = artifact.details as DumpDetails
  if (file) await writeToVolume(file.volume, asFile(file.path, artifact, context), context)
}

/** A tar with this single file, whose length is known before it is read. */
async function* asFile(name: string, artifact: ManifestArtifact, context: WriteContext): AsyncGenerator<Uint8Array> {
  yield* fileEntry({ name, size: artifact.index.plainBytes, mode: 0o644 }, contentOf(artifact, context))
  yield tarEnd
}

/** Starts only the services with databases, and loads the dumps. */
async function loadDatabases(artifacts: readonly ManifestArtifact[], context: WriteContext): Promise<void> {
  const { restore, deps, abort, onWritten } = context
  onWritten?.()
  const services = new Set(artifacts.map(({ details }) => (details as DumpDetails).service))
  await deps.data.startServices(restore.projectId, services, abort)
  const units = await deps.data.units(restore.projectId)
  for (const artifact of artifacts) {
    const details = artifact.details as DumpDetails
    const unit = units.find(({ service }) => service === details.service)
    if (!unit?.instance)
      throw new BackupFailed('not_running', `The service ${details.service} is not running, so its database cannot be restored`)
    const running: RunningUnit = { ...unit, instance: unit.instance, runtime: deps.data.runtimeFor(unit.instance.serverId) }
    await databaseKind(artifact.kind)?.load?.(running, details, contentOf(artifact, context), abort)
  }
}
