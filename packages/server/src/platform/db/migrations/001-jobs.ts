import { type Kysely, sql } from 'kysely'

export const migration = {
  name: '001-jobs',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('jobs')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('payload', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('priority', 'integer', (column) => column.notNull())
      .addColumn('sequence', 'bigint', (column) => column.notNull())
      .addColumn('runAt', 'bigint', (column) => column.notNull())
      .addColumn('scheduledFor', 'bigint')
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('uniqueKey', 'text')
      .addColumn('groupKey', 'text')
      .addColumn('leaseToken', 'text')
      .addColumn('leaseUntil', 'bigint')
      .addColumn('cancelRequested', 'integer', (column) => column.notNull())
      .addColumn('failure', 'text')
      .addColumn('lastError', 'text')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('finishedAt', 'bigint')
      .execute()
    await sql`create index "jobsQueued" on jobs (priority desc, "runAt", sequence) where status = 'queued'`.execute(db)
    await sql`create index "jobsUpcoming" on jobs (kind, "runAt") where status = 'queued'`.execute(db)
    await sql`create index "jobsRunning" on jobs ("leaseUntil") where status = 'running'`.execute(db)
    await sql`create index "jobsFinished" on jobs ("finishedAt") where "finishedAt" is not null`.execute(db)
    await sql`create unique index "jobsUniqueKey" on jobs ("uniqueKey") where status in ('queued', 'running')`.execute(db)
    await sql`create unique index "jobsGroupKey" on jobs ("groupKey") where status = 'running'`.execute(db)
    await db.schema
      .createTable('schedules')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('payload', 'text', (column) => column.notNull())
      .addColumn('cron', 'text')
      .addColumn('timezone', 'text')
      .addColumn('everySeconds', 'integer')
      .addColumn('nextRunAt', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema.createIndex('schedulesNextRunAt').on('schedules').column('nextRunAt').execute()
  },
}
