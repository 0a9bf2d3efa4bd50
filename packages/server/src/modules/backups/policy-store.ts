import type { Insertable, Updateable } from 'kysely'
import { page } from '../../platform/db/pages.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { BackupPoliciesTable, PolicyRow, RetiredPoliciesTable, RunRow } from '../../platform/db/tables/backups.ts'

/** SQL of policies. */

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

/** The policy of the webhook token, while its webhook is enabled. */
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

export const insertRetired = (db: Db, row: Insertable<RetiredPoliciesTable>) =>
  db
    .insertInto('retiredPolicies')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()

export const listRetired = (db: Db, projectId: string) =>
  db.selectFrom('retiredPolicies').selectAll().where('projectId', '=', projectId).orderBy('id').execute()

export const removeRetired = (db: Db, id: string) => db.deleteFrom('retiredPolicies').where('id', '=', id).execute()

/** Every enabled policy with a schedule. */
export const scheduledPolicies = (db: Db): Promise<PolicyRow[]> =>
  db.selectFrom('backupPolicies').selectAll().where('enabled', '=', 1).where('cronExpression', 'is not', null).execute()

export type LastRun = Pick<RunRow, 'id' | 'policyId' | 'status' | 'trigger' | 'createdAt' | 'startedAt' | 'finishedAt'>

/** Ids per query, within SQLite's limit of parameters. */
const batchSize = 500

/** The newest run of each policy. */
export async function lastRuns(db: Db, policyIds: readonly string[]): Promise<Map<string, LastRun>> {
  const lastRunsByPolicy = new Map<string, LastRun>()
  for (let offset = 0; offset < policyIds.length; offset += batchSize)
    for (const row of await newestOf(db, policyIds.slice(offset, offset + batchSize)))
      lastRunsByPolicy.set(row.policyId as string, row)
  return lastRunsByPolicy
}

const newestOf = (db: Db, policyIds: readonly string[]): Promise<LastRun[]> =>
  db
    .selectFrom('backupRuns')
    .select(['id', 'policyId', 'status', 'trigger', 'createdAt', 'startedAt', 'finishedAt'])
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
