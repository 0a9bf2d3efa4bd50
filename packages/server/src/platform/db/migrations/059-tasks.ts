import { type Kysely, sql } from 'kysely'

export const migration = {
  name: '059-tasks',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('cronJobs')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('projectId', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('schedule', 'text', (column) => column.notNull())
      .addColumn('command', 'text', (column) => column.notNull())
      .addColumn('environment', 'text', (column) => column.notNull())
      .addColumn('timezone', 'text', (column) => column.notNull())
      .addColumn('timeoutSeconds', 'integer', (column) => column.notNull())
      .addColumn('overlap', 'text', (column) => column.notNull())
      .addColumn('enabled', 'integer', (column) => column.notNull())
      .addColumn('failureAnnouncedAt', 'bigint')
      .addColumn('createdBy', 'text')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('updatedAt', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema.createIndex('cronJobsOfProject').on('cronJobs').columns(['projectId', 'createdAt', 'id']).execute()
    await db.schema
      .createTable('cronRuns')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('cronJobId', 'text', (column) => column.notNull().references('cronJobs.id').onDelete('cascade'))
      .addColumn('projectId', 'text', (column) => column.notNull())
      .addColumn('environment', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('trigger', 'text', (column) => column.notNull())
      .addColumn('scheduledFor', 'bigint')
      .addColumn('deploymentId', 'text')
      .addColumn('serverId', 'text')
      .addColumn('instanceId', 'text')
      .addColumn('logPosition', 'text')
      .addColumn('exitCode', 'integer')
      .addColumn('error', 'text')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('startedAt', 'bigint')
      .addColumn('finishedAt', 'bigint')
      .execute()
    await db.schema.createIndex('cronRunsOfJob').on('cronRuns').columns(['cronJobId', 'createdAt', 'id']).execute()
    // A scheduled time makes one run, even if its job runs twice.
    await sql`create unique index "cronRunsOfTime" on "cronRuns" ("cronJobId", "scheduledFor") where "scheduledFor" is not null`.execute(
      db,
    )
    await sql`create index "cronRunsUnfinished" on "cronRuns" ("projectId") where status in ('queued', 'running')`.execute(db)
  },
}
