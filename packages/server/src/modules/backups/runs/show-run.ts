import type { BackupRun } from '@berth/contract'
import { iso, isoOrNull } from '../../../platform/db/columns.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { PartRow, RunRow } from '../../../platform/db/tables/backups.ts'
import { partsOfAll } from './run-store.ts'

/** A run with what it stored. */
export type RunWithParts = RunRow & { parts: PartRow[] }

export async function withParts(db: Db, rows: readonly RunRow[]): Promise<RunWithParts[]> {
  const parts = await partsOfAll(
    db,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => ({ ...row, parts: parts.get(row.id) ?? [] }))
}

export async function showOne(db: Db, row: RunRow): Promise<BackupRun> {
  const [run] = await withParts(db, [row])
  return showRun(run as RunWithParts)
}

export const showRun = ({ parts, ...row }: RunWithParts): BackupRun => ({
  id: row.id,
  policyId: row.policyId,
  projectId: row.projectId,
  serviceId: row.serviceId,
  status: row.status,
  trigger: row.trigger,
  createdAt: iso(row.createdAt),
  startedAt: isoOrNull(row.startedAt),
  finishedAt: isoOrNull(row.finishedAt),
  bytesTotal: row.bytesTotal,
  bytesDone: row.bytesDone,
  sizeBytes: row.sizeBytes,
  artifacts: parts
    .filter(({ state }) => state === 'stored')
    .map(({ name, kind, sizeBytes, sha256, reused }) => ({
      name,
      kind,
      sizeBytes: sizeBytes ?? 0,
      sha256: sha256 ?? '',
      reused: reused === 1,
    })),
  protected: row.protected === 1,
  protectedUntil: isoOrNull(row.protectedUntil),
  prunedAt: isoOrNull(row.prunedAt),
  proven: row.proven === 1,
  error: row.errorCode === null ? null : { code: row.errorCode, message: row.errorMessage ?? '' },
})
