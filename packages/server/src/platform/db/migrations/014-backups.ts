import { type ColumnDefinitionBuilder, type Kysely, sql } from 'kysely'

const ofOrganization = (column: ColumnDefinitionBuilder) => column.notNull().references('organizations.id').onDelete('cascade')
const required = (column: ColumnDefinitionBuilder) => column.notNull()

export const migration = {
  name: '014-backups',
  async up(db: Kysely<unknown>): Promise<void> {
    await createDestinations(db)
    await createPolicies(db)
    await createRuns(db)
    await createRestores(db)
  },
}

async function createDestinations({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('backupDestinations')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('organizationId', 'text', ofOrganization)
    .addColumn('name', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('config', 'text', required)
    .addColumn('secrets', 'text')
    .addColumn('lastCheck', 'text')
    .addColumn('createdAt', 'bigint', required)
    .addColumn('updatedAt', 'bigint', required)
    .execute()
  await schema
    .createIndex('backupDestinationsOfOrganization')
    .on('backupDestinations')
    .columns(['organizationId', 'createdAt', 'id'])
    .execute()
}

async function createPolicies({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('backupPolicies')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('organizationId', 'text', required)
    .addColumn('projectId', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('serviceId', 'text')
    .addColumn('destinationId', 'text', (column) => column.notNull().references('backupDestinations.id'))
    .addColumn('enabled', 'integer', required)
    .addColumn('cronExpression', 'text')
    .addColumn('timezone', 'text', required)
    .addColumn('retainCount', 'integer')
    .addColumn('retainDays', 'integer')
    .addColumn('payload', 'text', required)
    .addColumn('preCommand', 'text')
    .addColumn('postCommand', 'text')
    .addColumn('webhookEnabled', 'integer', required)
    .addColumn('webhookTokenHash', 'text', (column) => column.unique())
    .addColumn('proveEveryDays', 'integer')
    .addColumn('lastProvenAt', 'bigint')
    .addColumn('createdBy', 'text')
    .addColumn('createdAt', 'bigint', required)
    .addColumn('updatedAt', 'bigint', required)
    .execute()
  await schema.createIndex('backupPoliciesOfProject').on('backupPolicies').columns(['projectId', 'createdAt', 'id']).execute()
  await schema.createIndex('backupPoliciesOfDestination').on('backupPolicies').column('destinationId').execute()
}

/** Runs have no foreign key to the project: a backup can restore a deleted project. */
async function createRuns(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('backupRuns')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('organizationId', 'text', ofOrganization)
    .addColumn('policyId', 'text', (column) => column.references('backupPolicies.id').onDelete('set null'))
    .addColumn('projectId', 'text', required)
    .addColumn('projectName', 'text', required)
    .addColumn('serviceId', 'text')
    .addColumn('destinationId', 'text', (column) => column.references('backupDestinations.id').onDelete('set null'))
    .addColumn('status', 'text', required)
    .addColumn('statusSince', 'bigint', required)
    .addColumn('trigger', 'text', required)
    .addColumn('createdBy', 'text')
    .addColumn('createdAt', 'bigint', required)
    .addColumn('startedAt', 'bigint')
    .addColumn('finishedAt', 'bigint')
    .addColumn('bytesTotal', 'bigint')
    .addColumn('bytesDone', 'bigint', required)
    .addColumn('sizeBytes', 'bigint')
    .addColumn('protected', 'integer', required)
    .addColumn('protectedUntil', 'bigint')
    .addColumn('prunedAt', 'bigint')
    .addColumn('proven', 'integer', required)
    .addColumn('errorCode', 'text')
    .addColumn('errorMessage', 'text')
    .addColumn('postCommandState', 'text', required)
    .addColumn('manifestName', 'text')
    .addColumn('manifestSha256', 'text')
    .execute()
  await schema.createIndex('backupRunsOfProject').on('backupRuns').columns(['projectId', 'createdAt', 'id']).execute()
  await schema.createIndex('backupRunsOfPolicy').on('backupRuns').columns(['policyId', 'createdAt', 'id']).execute()
  // The database rejects a second active run of a policy.
  await sql`create unique index "backupRunUnderWay" on "backupRuns" ("policyId") where status in ('queued', 'preparing', 'dumping', 'uploading', 'verifying') and trigger not in ('pre_restore', 'pre_deploy')`.execute(
    db,
  )
  await schema
    .createTable('backupArtifacts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('runId', 'text', (column) => column.notNull().references('backupRuns.id').onDelete('cascade'))
    .addColumn('destinationId', 'text')
    .addColumn('name', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('reused', 'integer', required)
    .addColumn('sizeBytes', 'bigint', required)
    .addColumn('sha256', 'text', required)
    .addColumn('index', 'text', required)
    .addColumn('details', 'text', required)
    .addColumn('position', 'integer', required)
    .addUniqueConstraint('backupArtifactOfRun', ['runId', 'name'])
    .execute()
}

async function createRestores(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('backupRestores')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('organizationId', 'text', ofOrganization)
    .addColumn('runId', 'text', (column) => column.notNull().references('backupRuns.id').onDelete('cascade'))
    .addColumn('projectId', 'text', required)
    .addColumn('target', 'text', required)
    .addColumn('status', 'text', required)
    .addColumn('statusSince', 'bigint', required)
    .addColumn('tokenHash', 'text')
    .addColumn('verification', 'text', required)
    .addColumn('verifiedBytes', 'bigint', required)
    .addColumn('verifyBytesTotal', 'bigint')
    .addColumn('report', 'text')
    .addColumn('bytesTotal', 'bigint')
    .addColumn('bytesDone', 'bigint', required)
    .addColumn('preRestoreRunId', 'text')
    .addColumn('dataState', 'text', required)
    .addColumn('progressNote', 'text')
    .addColumn('cancelRequested', 'integer', required)
    .addColumn('errorCode', 'text')
    .addColumn('errorMessage', 'text')
    .addColumn('createdBy', 'text')
    .addColumn('createdAt', 'bigint', required)
    .addColumn('startedAt', 'bigint')
    .addColumn('finishedAt', 'bigint')
    .execute()
  await schema.createIndex('backupRestoresOfRun').on('backupRestores').column('runId').execute()
  // The database rejects a second restore that writes the same project.
  await sql`create unique index "backupRestoreApplying" on "backupRestores" ("projectId") where status = 'applying'`.execute(db)
}
