import { type RestoreReport, terminalRestore } from '@berth/contract'
import type { RestoreRow } from '../../../platform/db/tables/backups.ts'
import type { VolumeRow } from '../../../platform/db/tables/deployments.ts'
import { job } from '../../../platform/jobs/declare.ts'
import type { Manifest, ManifestArtifact } from '../content/manifest.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { BackupFailed, failureOf, internalText } from '../failures.ts'
import { policiesWithoutDestination, restorablePolicies } from '../policies/retired-policies.ts'
import { RowProgress } from '../runs/run-progress.ts'
import { findRun } from '../runs/run-store.ts'
import { copyName } from './copies.ts'
import { difference, filesIn } from './file-list.ts'
import { endRestore, RestoreIsOver, restoreTopic, signalRestore } from './move-restore.ts'
import { type OpenedArchive, withArchive } from './opened-archive.ts'
import { type RestorePayload, verifyRestore } from './restore-kinds.ts'
import { findRestore, recordVerification, updateRestore, type VerificationChanges } from './restore-store.ts'

const hours = 3_600_000

export const verifyJob = (deps: BackupsDeps) =>
  job<RestorePayload, unknown>(verifyRestore, {
    deadlineMs: 12 * hours,
    maxAttempts: 3,
    concurrency: deps.settings.maxBackups,
    async run({ restoreId }, _, abort) {
      try {
        await verify(restoreId, deps, abort)
      } catch (error) {
        if (error instanceof RestoreIsOver) return
        abort.throwIfAborted()
        const failure = failureOf(error)
        if (!failure) throw error
        await failVerification(restoreId, { status: 'failed', ...failure }, deps)
      }
    },
    async onFailed({ restoreId }, { message }) {
      deps.log.error({ restoreId, message }, 'backups: verification failed, all attempts used up')
      await failVerification(restoreId, { status: 'server_error', code: 'internal', message: internalText }, deps)
    },
  })

export async function failVerification(
  restoreId: string,
  failure: { status: 'failed' | 'server_error'; code: string; message: string },
  deps: BackupsDeps,
): Promise<void> {
  await endRestore(restoreId, { ...failure, dataState: 'untouched', verification: 'failed' }, deps)
}

/** Reads the whole archive as a restore would, before anything is changed. Does nothing where that was done already. */
export async function verify(restoreId: string, deps: BackupsDeps, abort: AbortSignal): Promise<void> {
  const { db } = deps.database
  const restore = await findRestore(db, restoreId)
  if (!restore || terminalRestore.has(restore.status)) throw new RestoreIsOver()
  if (restore.verification === 'passed') return
  const run = await findRun(db, restore.runId)
  if (!run || run.prunedAt !== null) throw new BackupFailed('pruned', 'The run was pruned: its data was deleted')
  await saveVerification(restoreId, { verification: 'running' }, deps)
  const { report, verifiedBytes } = await withArchive(run, deps, abort, (opened) => check(restore, opened, deps, abort))
  await saveVerification(restoreId, { verification: 'passed', report: JSON.stringify(report), verifiedBytes }, deps)
}

/** Records the progress of the verification, and notifies the restore's streams. */
async function saveVerification(restoreId: string, changes: VerificationChanges, deps: BackupsDeps): Promise<void> {
  await deps.database.transaction(async (transaction) => {
    const restore = await recordVerification(transaction.db, restoreId, { ...changes, verificationSince: nowOf(deps) })
    if (!restore) throw new RestoreIsOver()
    signalRestore(restore, transaction)
  })
}

/** Whether the upload is restored: only where it is missing. An existing project keeps its source. */
const isUploadRestored = async ({ target }: RestoreRow, { project }: Manifest, { projects }: BackupsDeps) =>
  target === 'in_place' && (await projects.isUploadMissing(project))

type Change = RestoreReport['changes'][number]

interface VerifiedArchive {
  report: RestoreReport
  verifiedBytes: number
}

async function check(
  restore: RestoreRow,
  opened: OpenedArchive,
  deps: BackupsDeps,
  abort: AbortSignal,
): Promise<VerifiedArchive> {
  const { store, archives, manifest } = opened
  const volumes = await deps.data.volumes(restore.projectId)
  const total = manifest.artifacts.reduce((sum, { index }) => sum + index.sizeBytes, 0)
  await updateRestore(deps.database.db, restore.id, { verifyBytesTotal: total })
  const saveProgress = (verifiedBytes: number) => updateRestore(deps.database.db, restore.id, { verifiedBytes })
  const progress = new RowProgress(restoreTopic(restore.id), total, saveProgress, deps)
  const restored = await previewDeletedProject(restore, manifest, deps)
  const changes: Change[] = [...restored.changes]
  for (const artifact of manifest.artifacts) {
    const before = progress.bytesDone
    const onProgress = (bytes: number) => progress.update(before + bytes)
    const content = archives.read(artifact.index, { store, abort, onProgress })
    const change = await changeOf(artifact, content, { restore, volumes, deps, abort })
    if (artifact.kind !== 'source' || (await isUploadRestored(restore, manifest, deps))) changes.push(change)
    progress.update(before + artifact.index.sizeBytes)
  }
  await progress.waitUntilStored()
  const policyWarnings = await lostPolicyWarnings(restore, deps)
  const warnings = [
    ...restored.warnings,
    ...warningsOf(restore, manifest.artifacts, volumes),
    ...removalWarnings(changes),
    ...policyWarnings,
  ]
  return { report: { changes, unchanged: unchangedParts(restore, restored.isProject), warnings }, verifiedBytes: total }
}

/** A restore replaces a volume's content: newer files are removed, also those that the policy excludes. */
const removalWarnings = (changes: readonly Change[]): string[] =>
  changes.flatMap(({ name, filesRemoved }) =>
    filesRemoved
      ? [
          `${name}: ${filesRemoved === 1 ? '1 file is' : `${filesRemoved} files are`} not in the backup and will be removed. The current data is backed up before the restore.`,
        ]
      : [],
  )

/** The parts of a deleted project that are restored with its data: the project itself, and its backup policies. */
async function previewDeletedProject(
  { target, projectId, organizationId }: RestoreRow,
  { project }: Manifest,
  deps: BackupsDeps,
): Promise<RestoreReport & { isProject: boolean }> {
  const restored = target === 'in_place' ? await deps.projects.previewRestore(project, organizationId) : undefined
  if (!restored) return { changes: [], warnings: [], isProject: false }
  const policies = (await restorablePolicies(projectId, deps)).map((name) => ({ kind: 'backup policy', name }))
  const changes = [...restored.items, ...policies].map((item) => ({ ...item, ...created }))
  return { changes, warnings: restored.warnings, isProject: true }
}

/** A run also saves settings, for a project that is deleted later; those of an existing project are left unchanged. */
const settingsOfProject = [
  'settings',
  'environment variables',
  'domains',
  'route rules',
  'backup policies',
  'source',
  'deployments',
]

function unchangedParts({ target }: RestoreRow, isProject: boolean): string[] {
  if (isProject) return []
  return target === 'copy' ? [...settingsOfProject, 'volumes', 'databases'] : settingsOfProject
}

const unknownSizes = { currentBytes: null, filesAdded: null, filesChanged: null, filesRemoved: null }
const created = { volume: null, action: 'create', newBytes: null, ...unknownSizes } as const

interface Verification {
  restore: RestoreRow
  volumes: readonly VolumeRow[]
  deps: BackupsDeps
  abort: AbortSignal
}

async function changeOf(
  artifact: ManifestArtifact,
  content: AsyncIterable<Uint8Array>,
  verification: Verification,
): Promise<Change> {
  const { restore, volumes, deps, abort } = verification
  const { name, kind, index } = artifact
  const currentVolume = volumes.find((volume) => volume.name === (artifact.details as { volume?: string }).volume)
  const isCopy = restore.target === 'copy' && kind !== 'source'
  const volume = isCopy ? copyName(restore, artifact) : ((artifact.details as { volume?: string }).volume ?? null)
  const common = { kind, name, volume, newBytes: index.plainBytes }
  if (kind !== 'volume') {
    for await (const _ of content) void _
    return { ...common, ...unknownSizes, action: restore.target === 'copy' || kind === 'source' ? 'create' : 'replace' }
  }
  const next = await filesIn(content)
  if (restore.target === 'copy' || !currentVolume)
    return { ...common, ...unknownSizes, newBytes: next.bytes, filesAdded: next.files?.size ?? null, action: 'create' }
  const now = await filesIn(deps.data.runtimeFor(currentVolume.serverId).readVolume(currentVolume.id, abort))
  return { ...common, action: 'replace', currentBytes: now.bytes, newBytes: next.bytes, ...difference(now.files, next.files) }
}

/** Policies of a deleted project that cannot be restored with it. */
async function lostPolicyWarnings({ target, projectId }: RestoreRow, deps: BackupsDeps): Promise<string[]> {
  const policyIds = target === 'in_place' ? await policiesWithoutDestination(projectId, deps) : []
  return policyIds.length > 0
    ? [`These backup policies are not restored, because their destination was deleted: ${policyIds.join(', ')}`]
    : []
}

function warningsOf({ target }: RestoreRow, artifacts: readonly ManifestArtifact[], volumes: readonly VolumeRow[]): string[] {
  if (target === 'copy') return []
  const saved = new Set(artifacts.map(({ details }) => (details as { volume?: string }).volume))
  const databases = artifacts.filter(({ kind }) => kind !== 'volume' && kind !== 'source')
  const others = volumes.filter(({ name, restoredFrom }) => restoredFrom === null && !saved.has(name)).map(({ name }) => name)
  return [
    ...(others.length > 0 && databases.length === 0 ? [`Not in this backup, and not changed: ${others.join(', ')}`] : []),
    ...(databases.length > 0 ? ['Databases are loaded with their own tools while the rest of the project is stopped'] : []),
  ]
}
