import type { BackupRun } from '@berth/contract'
import { iso, isoOrNull } from '../../../platform/db/columns.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { RunRow } from '../../../platform/db/tables/backups.ts'
import { isProtected } from './retention.ts'
import { type ArtifactFacts, artifactsOfAll } from './run-store.ts'

/** A run with its artifacts. */
export type RunWithArtifacts = RunRow & { artifacts: ArtifactFacts[] }

export async function withArtifacts(db: Db, rows: readonly RunRow[]): Promise<RunWithArtifacts[]> {
  const artifacts = await artifactsOfAll(
    db,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => ({ ...row, artifacts: artifacts.get(row.id) ?? [] }))
}

export async function showOne(db: Db, row: RunRow, now: number): Promise<BackupRun> {
  const [run] = await withArtifacts(db, [row])
  return showRun(run as RunWithArtifacts, now)
}

/** An expired protection is shown as none. */
export const showRun = ({ artifacts, ...row }: RunWithArtifacts, now: number): BackupRun => ({
  id: row.id,
  policyId: row.policyId,
  projectId: row.projectId,
  projectName: row.projectName,
  serviceId: row.serviceId,
  status: row.status,
  trigger: row.trigger,
  createdAt: iso(row.createdAt),
  startedAt: isoOrNull(row.startedAt),
  finishedAt: isoOrNull(row.finishedAt),
  bytesTotal: row.bytesTotal,
  bytesDone: row.bytesDone,
  sizeBytes: row.sizeBytes,
  artifacts: artifacts.map(({ name, kind, sizeBytes, sha256, reused }) => ({
    name,
    kind,
    sizeBytes,
    sha256,
    reused: reused === 1,
  })),
  protected: isProtected(row, now),
  protectedUntil: isoOrNull(row.protectedUntil),
  prunedAt: isoOrNull(row.prunedAt),
  proven: row.proven === 1,
  warning: row.warning,
  error: row.errorCode === null ? null : { code: row.errorCode, message: row.errorMessage ?? '' },
})
