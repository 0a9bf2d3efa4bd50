import { type ColumnDefinitionBuilder, type Kysely, sql } from 'kysely'

const ofProject = (column: ColumnDefinitionBuilder) => column.notNull().references('projects.id').onDelete('cascade')

export const migration = {
  name: '004-deployments',
  async up(db: Kysely<unknown>): Promise<void> {
    const { schema } = db
    await schema
      .createTable('deployments')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('projectId', 'text', ofProject)
      .addColumn('environment', 'text', (column) => column.notNull())
      .addColumn('number', 'integer', (column) => column.notNull())
      .addColumn('trigger', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('source', 'text', (column) => column.notNull())
      .addColumn('config', 'text', (column) => column.notNull())
      .addColumn('env', 'text')
      .addColumn('plan', 'text')
      .addColumn('artifacts', 'text')
      .addColumn('sizeBytes', 'bigint')
      .addColumn('commitSha', 'text')
      .addColumn('commitMessage', 'text')
      .addColumn('commitAuthor', 'text')
      .addColumn('branch', 'text')
      .addColumn('steps', 'text', (column) => column.notNull())
      .addColumn('url', 'text')
      .addColumn('requestsTotal', 'bigint')
      .addColumn('requestsFailed', 'bigint')
      .addColumn('errorCode', 'text')
      .addColumn('errorMessage', 'text')
      .addColumn('errorLogTail', 'text')
      .addColumn('basedOn', 'text')
      .addColumn('force', 'integer', (column) => column.notNull())
      .addColumn('createdBy', 'text')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('startedAt', 'bigint')
      .addColumn('finishedAt', 'bigint')
      .addUniqueConstraint('deploymentNumber', ['projectId', 'number'])
      .execute()
    await schema.createIndex('deploymentsByStatus').on('deployments').columns(['status', 'createdAt']).execute()
    // One deployment of an environment at a time: the database itself refuses a second one.
    await sql`create unique index "deploymentUnderWay" on deployments ("projectId", environment) where status in ('building', 'deploying')`.execute(
      db,
    )
    await schema
      .createTable('liveEnvironments')
      .addColumn('projectId', 'text', ofProject)
      .addColumn('environment', 'text', (column) => column.notNull())
      .addColumn('deploymentId', 'text')
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('health', 'text', (column) => column.notNull())
      .addColumn('healthReason', 'text')
      .addColumn('lastRequestAt', 'bigint')
      .addColumn('changedAt', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('liveEnvironmentsKey', ['projectId', 'environment'])
      .execute()
    await schema
      .createTable('instances')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('deploymentId', 'text', (column) => column.notNull())
      .addColumn('projectId', 'text', (column) => column.notNull())
      .addColumn('environment', 'text', (column) => column.notNull())
      .addColumn('service', 'text', (column) => column.notNull())
      .addColumn('runtime', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('host', 'text')
      .addColumn('port', 'integer')
      .addColumn('logPosition', 'text')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .execute()
    await schema.createIndex('instancesOfDeployment').on('instances').column('deploymentId').execute()
    await schema.createIndex('instancesOfProject').on('instances').columns(['projectId', 'environment']).execute()
    await schema
      .createTable('volumes')
      .addColumn('id', 'text', (column) => column.primaryKey())
      // Not cascading: deleting a project keeps its volumes unless that was asked for.
      .addColumn('projectId', 'text', (column) => column.notNull())
      .addColumn('environment', 'text', (column) => column.notNull())
      .addColumn('service', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('runtime', 'text', (column) => column.notNull())
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('volumeName', ['projectId', 'environment', 'service', 'name'])
      .execute()
  },
}
