import { type ColumnDefinitionBuilder, type Kysely, sql } from 'kysely'

const required = (column: ColumnDefinitionBuilder) => column.notNull()

/** Marks restored copies among the volumes, keeps the policies of deleted projects, and allows a run to wait for another. */
export const migration = {
  name: '038-backup-records',
  async up(db: Kysely<unknown>): Promise<void> {
    const { schema } = db
    await schema.alterTable('backupRuns').addColumn('warning', 'text').execute()
    await schema.alterTable('backupRestores').addColumn('verificationSince', 'bigint').execute()
    await schema.alterTable('backupRestores').addColumn('copies', 'text').execute()
    await schema.alterTable('volumes').addColumn('restoredFrom', 'text').execute()
    await markCopies(db)
    await createRetiredPolicies(db)
    // A run requested during another one waits: runs of one project never run concurrently (their jobs share a group).
    await schema.dropIndex('backupRunUnderWay').execute()
    await sql`create unique index "backupRunQueued" on "backupRuns" ("policyId") where status = 'queued' and trigger not in ('pre_restore', 'pre_deploy')`.execute(
      db,
    )
    await schema.createIndex('backupRunsOfOrganization').on('backupRuns').columns(['organizationId', 'createdAt', 'id']).execute()
    await schema.createIndex('backupRestoresOfProject').on('backupRestores').columns(['projectId', 'createdAt', 'id']).execute()
  },
}

/** The policies of deleted projects: restoring the project restores them too. */
const createRetiredPolicies = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('retiredPolicies')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('organizationId', 'text', (column) => column.notNull().references('organizations.id').onDelete('cascade'))
    .addColumn('projectId', 'text', required)
    .addColumn('policy', 'text', required)
    .addColumn('retiredAt', 'bigint', required)
    .execute()
  await schema.createIndex('retiredPoliciesOfProject').on('retiredPolicies').column('projectId').execute()
}

/** Earlier copies are identified by the suffix of their name, which is the end of their restore's id. */
async function markCopies(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ id: string; runId: string; projectId: string }>`
    select id, "runId", "projectId" from "backupRestores" where target = 'copy'`.execute(db)
  for (const { id, runId, projectId } of rows)
    await sql`update volumes set "restoredFrom" = ${runId} where "projectId" = ${projectId} and name like ${`%-restored-${id.slice(-8)}`}`.execute(
      db,
    )
}
