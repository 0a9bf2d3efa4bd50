import type { Insertable, Updateable } from 'kysely'
import { page } from '../../../platform/db/pages.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type {
  InstanceBackupPoliciesTable,
  InstanceBackupPolicyRow,
  InstanceBackupRow,
  InstanceBackupsTable,
} from '../../../platform/db/tables/backups.ts'

/** SQL of backups of the instance itself. Its one policy has a fixed id. */

const policyId = 'instance'

export const findInstancePolicy = (db: Db): Promise<InstanceBackupPolicyRow | undefined> =>
  db.selectFrom('instanceBackupPolicies').selectAll().where('id', '=', policyId).executeTakeFirst()

export const saveInstancePolicy = (
  db: Db,
  policy: Omit<Insertable<InstanceBackupPoliciesTable>, 'id'>,
): Promise<InstanceBackupPolicyRow> =>
  db
    .insertInto('instanceBackupPolicies')
    .values({ id: policyId, ...policy })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(policy))
    .returningAll()
    .executeTakeFirstOrThrow()

export const removeInstancePolicy = (db: Db): Promise<unknown> =>
  db.deleteFrom('instanceBackupPolicies').where('id', '=', policyId).execute()

export const listInstanceBackups = (db: Db, { limit = 100, cursor }: { limit?: number; cursor?: string }) =>
  page(db.selectFrom('instanceBackups').selectAll(), { limit, cursor, by: ['createdAt', 'id'], direction: 'desc' })

export const findInstanceBackup = (db: Db, id: string): Promise<InstanceBackupRow | undefined> =>
  db.selectFrom('instanceBackups').selectAll().where('id', '=', id).executeTakeFirst()

export const findUnfinishedInstanceBackup = (db: Db): Promise<InstanceBackupRow | undefined> =>
  db.selectFrom('instanceBackups').selectAll().where('status', 'in', ['queued', 'running']).limit(1).executeTakeFirst()

export const insertInstanceBackup = (db: Db, row: Insertable<InstanceBackupsTable>): Promise<InstanceBackupRow> =>
  db.insertInto('instanceBackups').values(row).returningAll().executeTakeFirstOrThrow()

export const updateInstanceBackup = (db: Db, id: string, changes: Updateable<InstanceBackupsTable>): Promise<unknown> =>
  db.updateTable('instanceBackups').set(changes).where('id', '=', id).execute()

export const removeInstanceBackup = (db: Db, id: string): Promise<unknown> =>
  db.deleteFrom('instanceBackups').where('id', '=', id).execute()

/** Backups that ended with the status, newest first, without the first `keep` of them. */
export const instanceBackupsBeyond = (db: Db, status: 'succeeded' | 'failed', keep: number): Promise<InstanceBackupRow[]> =>
  db
    .selectFrom('instanceBackups')
    .selectAll()
    .where('status', '=', status)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit(1_000)
    .offset(keep)
    .execute()
