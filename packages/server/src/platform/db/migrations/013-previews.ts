import { type Kysely, sql } from 'kysely'

export const migration = {
  name: '013-previews',
  async up(db: Kysely<unknown>): Promise<void> {
    const { schema } = db
    await schema
      .alterTable('projects')
      .addColumn('previewsMaximum', 'integer', (column) => column.notNull().defaultTo(10))
      .execute()
    await schema
      .alterTable('projects')
      .addColumn('previewsMaxAgeDays', 'integer', (column) => column.defaultTo(30))
      .execute()
    await schema
      .alterTable('projects')
      .addColumn('previewsUseProduction', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await schema.alterTable('environments').addColumn('pullRequest', 'integer').execute()
    await schema.alterTable('environments').addColumn('deletingSince', 'bigint').execute()
    await schema
      .alterTable('environments')
      .addColumn('fromFork', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await schema.alterTable('deployments').addColumn('requestKey', 'text').execute()
    // Git hosts compare names case-insensitively.
    await sql`create index "projectsByRepository" on projects (lower("gitOwner"), lower("gitRepo"))`.execute(db)
    await schema
      .createTable('gitDeliveries')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('provider', 'text', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('delivery', 'text')
      .addColumn('organizations', 'text', (column) => column.notNull())
      .addColumn('receivedAt', 'bigint', (column) => column.notNull())
      .addColumn('handledAt', 'bigint')
      .execute()
    await schema.createIndex('gitDeliveriesToForget').on('gitDeliveries').column('receivedAt').execute()
    await schema
      .createTable('pullRequests')
      .addColumn('projectId', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
      .addColumn('number', 'integer', (column) => column.notNull())
      .addColumn('title', 'text', (column) => column.notNull())
      .addColumn('author', 'text', (column) => column.notNull())
      .addColumn('branch', 'text', (column) => column.notNull())
      .addColumn('commit', 'text', (column) => column.notNull())
      .addColumn('fromFork', 'integer', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('reason', 'text')
      .addColumn('environment', 'text', (column) => column.notNull())
      .addColumn('approvedBy', 'text')
      .addColumn('approvedCommit', 'text')
      .addColumn('updatedAt', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('pullRequestOnce', ['projectId', 'number'])
      .execute()
    await schema.createIndex('pullRequestsByAge').on('pullRequests').columns(['state', 'updatedAt']).execute()
  },
}
