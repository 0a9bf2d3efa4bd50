import type { InstanceBackup, InstanceBackupBody } from '@berth/contract'
import { iso, isoOrNull } from '../../../platform/db/columns.ts'
import { newId } from '../../../platform/db/ids.ts'
import type { InstanceBackupRow } from '../../../platform/db/tables/backups.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { findDestinationOf } from '../destinations/destination-store.ts'
import { instanceBackup, instanceBackupDue } from './instance-backup-kinds.ts'
import { findInstancePolicy, findUnfinishedInstanceBackup, insertInstanceBackup } from './instance-backup-store.ts'

/** The unfinished backup, if there is one; else a new one, by default to the destination of the schedule. */
export const startInstanceBackup = (
  { destinationId, content }: InstanceBackupBody,
  organizationId: string,
  deps: BackupsDeps,
): Promise<InstanceBackupRow> =>
  deps.database.transaction(async (transaction) => {
    const { db, lock } = transaction
    await lock(instanceBackupDue.kind)
    const existing = await findUnfinishedInstanceBackup(db)
    if (existing) return existing
    const policy = await findInstancePolicy(db)
    const target = destinationId ?? policy?.destinationId
    if (target === undefined) return refuse('destinationId', 'is needed, since the instance has no backup schedule')
    if (!(await findDestinationOf(db, organizationId, target)))
      fail('not_found', {
        field: 'destinationId',
        message: 'This backup destination does not exist. Name one of the organisation.',
      })
    const backup = { organizationId, destinationId: target, content: content ?? policy?.content ?? 'everything' }
    return queueInstanceBackup({ ...backup, trigger: 'manual' }, transaction, deps)
  })

export async function queueInstanceBackup(
  backup: Pick<InstanceBackupRow, 'organizationId' | 'destinationId' | 'content' | 'trigger'>,
  { db, enqueue }: TransactionContext,
  deps: BackupsDeps,
): Promise<InstanceBackupRow> {
  const [id, createdAt] = [newId('ibk'), nowOf(deps)]
  const row = await insertInstanceBackup(db, {
    id,
    ...backup,
    status: 'queued',
    objectName: objectNameOf(id, createdAt),
    bytesDone: 0,
    sizeBytes: null,
    errorCode: null,
    errorMessage: null,
    createdAt,
    startedAt: null,
    finishedAt: null,
  })
  await enqueue(instanceBackup, { backupId: id }, { uniqueKey: `${instanceBackup.kind}:${id}` })
  return row
}

/** Sorts by time, and two instances may share a destination. */
export const objectNameOf = (id: string, createdAt: number): string =>
  `instance/${iso(createdAt).slice(0, 19).replaceAll(':', '-')}-${id}.tar.zst.age`

export const showInstanceBackup = (row: InstanceBackupRow): InstanceBackup => ({
  id: row.id,
  destinationId: row.destinationId,
  status: row.status,
  trigger: row.trigger,
  content: row.content,
  objectName: row.objectName,
  bytesDone: row.bytesDone,
  sizeBytes: row.sizeBytes,
  error: row.errorCode === null ? null : { code: row.errorCode, message: row.errorMessage ?? '' },
  createdAt: iso(row.createdAt),
  startedAt: isoOrNull(row.startedAt),
  finishedAt: isoOrNull(row.finishedAt),
})
