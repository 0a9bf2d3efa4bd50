import type { Insertable, Updateable } from 'kysely'
import { page } from '../../../platform/db/pages.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { BackupPoliciesTable, PolicyRow, RunRow } from '../../../platform/db/tables/backups.ts'

/** The SQL of policies. */

export const listPolicies = (db: Db, projectId: string, { limit = 100, cursor }: { limit?: number; cursor?: string }) =>
  page(db.selectFrom('backupPolicies').selectAll().where('projectId', '=', projectId), {
    limit,
    cursor,
    by: ['createdAt', 'id'],
    direction: 'asc',
  })

export const allPolicies = (db: Db, projectId: string): Promise<PolicyRow[]> =>
  db.selectFrom('backupPolicies').selectAll().where('projectId', '=', projectId).execute()

export const findPolicyOf = (db: Db, organizationId: string, id: string): Promise<PolicyRow | undefined> =>
  db.selectFrom('backupPolicies').selectAll().where('id', '=', id).where('organizationId', '=', organizationId).executeTakeFirst()

export const findPolicy = (db: Db, id: string): Promise<PolicyRow | undefined> =>
  db.selectFrom('backupPolicies').selectAll().where('id', '=', id).executeTakeFirst()

/** The policy that the token opens, while its webhook is on. */
export const findByWebhook = (db: Db, webhookTokenHash: string): Promise<PolicyRow | undefined> =>
  db
    .selectFrom('backupPolicies')
    .selectAll()
    .where('webhookTokenHash', '=', webhookTokenHash)
    .where('webhookEnabled', '=', 1)
    .executeTakeFirst()

export async function countPolicies(db: Db, projectId: string): Promise<number> {
  const { count } = await db
    .selectFrom('backupPolicies')
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .where('projectId', '=', projectId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export const insertPolicy = (db: Db, row: Insertable<BackupPoliciesTable>): Promise<PolicyRow> =>
  db.insertInto('backupPolicies').values(row).returningAll().executeTakeFirstOrThrow()

export const updatePolicy = (db: Db, id: string, changes: Updateable<BackupPoliciesTable>): Promise<PolicyRow | undefined> =>
  db.updateTable('backupPolicies').set(changes).where('id', '=', id).returningAll().executeTakeFirst()

export const removePolicy = (db: Db, id: string) => db.deleteFrom('backupPolicies').where('id', '=', id).execute()

export type LastRun = Pick<RunRow, 'id' | 'policyId' | 'status' | 'trigger' | 'startedAt' | 'finishedAt'>

/** The newest run of each. */
export async function lastRuns(db: Db, policyIds: readonly string[]): Promise<Map<string, LastRun>> {
  if (policyIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('backupRuns')
    .select(['id', 'policyId', 'status', 'trigger', 'startedAt', 'finishedAt'])
    .where('policyId', 'in', [...policyIds])
    .where((eb) =>
      eb(
        'id',
        '=',
        eb
          .selectFrom('backupRuns as other')
          .select('other.id')
          .whereRef('other.policyId', '=', 'backupRuns.policyId')
          .orderBy('other.createdAt', 'desc')
          .orderBy('other.id', 'desc')
          .limit(1),
      ),
    )
    .execute()
  return new Map(rows.map((row) => [row.policyId as string, row]))
}
