import { type BackupRestore, type BackupRun, terminalRestore, terminalRun } from '@berth/contract'
import { newId } from '../../platform/db/ids.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { ArtifactKind } from '../../platform/db/tables/backups.ts'
import { showRestore } from './restores/show-restore.ts'
import { listRuns } from './runs/run-store.ts'
import { showRun, withArtifacts } from './runs/show-run.ts'

const maxRows = 500

/** Runs and restores of a project that is being moved, as the API shows them. Their data stays at its destination. */
export interface BackupHistory {
  runs: BackupRun[]
  restores: BackupRestore[]
}

export async function readBackupHistory(db: Db, projectId: string): Promise<BackupHistory> {
  const { rows } = await listRuns(db, { projectId }, { limit: maxRows })
  // With time 0 no protection has expired: each is exported as recorded.
  const runs = (await withArtifacts(db, rows)).map((run) => showRun(run, 0))
  const restores = await db
    .selectFrom('backupRestores')
    .selectAll()
    .where('projectId', '=', projectId)
    .orderBy('createdAt', 'desc')
    .limit(maxRows)
    .execute()
  return { runs, restores: restores.map(showRestore) }
}

/** Records runs and restores of another instance as read-only. Existing rows are left unchanged. */
export async function writeBackupHistory(
  db: Db,
  owner: { projectId: string; organizationId: string },
  { runs, restores }: BackupHistory,
  now: number,
): Promise<void> {
  const { projectId, organizationId } = owner
  for (const run of runs) if (terminalRun.has(run.status)) await insertRun(db, owner, run, now)
  const existing = await db
    .selectFrom('backupRuns')
    .select('id')
    .where('projectId', '=', projectId)
    .where('organizationId', '=', organizationId)
    .execute()
  const runIds = new Set(existing.map(({ id }) => id))
  for (const restore of restores)
    if (terminalRestore.has(restore.status) && runIds.has(restore.runId)) await insertRestore(db, owner, restore)
}

const toMillis = (time: string | null): number | null => (time === null ? null : Date.parse(time))

async function insertRun(
  db: Db,
  owner: { projectId: string; organizationId: string },
  run: BackupRun,
  now: number,
): Promise<void> {
  const inserted = await db
    .insertInto('backupRuns')
    .values({
      ...owner,
      projectName: run.projectName,
      ...{ id: run.id, policyId: null, serviceId: run.serviceId, destinationId: null, status: run.status, trigger: run.trigger },
      ...{ bytesTotal: run.bytesTotal, bytesDone: run.bytesDone, sizeBytes: run.sizeBytes, proven: run.proven },
      ...{ protected: run.protected, protectedUntil: toMillis(run.protectedUntil), prunedAt: toMillis(run.prunedAt) },
      ...{ createdBy: null, createdAt: Date.parse(run.createdAt), startedAt: toMillis(run.startedAt) },
      ...{ finishedAt: toMillis(run.finishedAt), statusSince: toMillis(run.finishedAt) ?? now },
      ...{ errorCode: run.error?.code ?? null, errorMessage: run.error?.message ?? null, warning: run.warning },
      ...{ postCommandState: 'none', manifestName: null, importedAt: now },
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst()
  if (!inserted) return
  for (const [position, { name, kind, sizeBytes, sha256, reused }] of run.artifacts.entries())
    await db
      .insertInto('backupArtifacts')
      .values({
        ...{ id: newId('bkr'), runId: run.id, destinationId: null, name, kind: kind as ArtifactKind, sizeBytes, sha256, reused },
        ...{ index: '{"parts":[]}', details: '{}', position, damaged: 0 },
      })
      .execute()
}

const insertRestore = (db: Db, owner: { projectId: string; organizationId: string }, restore: BackupRestore) =>
  db
    .insertInto('backupRestores')
    .values({
      ...owner,
      ...{ id: restore.id, runId: restore.runId, target: restore.target, status: restore.status, tokenHash: null },
      ...{ verification: restore.verification.status, verifiedBytes: restore.verification.bytesDone },
      ...{ verifyBytesTotal: restore.verification.bytesTotal, report: restore.report && JSON.stringify(restore.report) },
      ...{ bytesTotal: restore.bytesTotal, bytesDone: restore.bytesDone, preRestoreRunId: restore.preRestoreRunId },
      ...{ dataState: restore.dataState, cancelRequested: 0, createdBy: null, createdAt: Date.parse(restore.createdAt) },
      ...{ startedAt: toMillis(restore.startedAt), finishedAt: toMillis(restore.finishedAt) },
      statusSince: toMillis(restore.finishedAt) ?? Date.parse(restore.createdAt),
      ...{ errorCode: restore.error?.code ?? null, errorMessage: restore.error?.message ?? null },
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
