import { type Kysely, sql } from 'kysely'

/** The organisation whose slots a job uses. The most urgent job of an organisation is the first of its part of the index. */
export const migration = {
  name: '052-job-owners',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('jobs')
      .addColumn('ownerId', 'text', (column) => column.notNull().defaultTo(''))
      .execute()
    await db.schema.dropIndex('jobsOfKind').execute()
    await sql`create index "jobsOfOwner" on jobs (kind, "ownerId", priority desc, "runAt", sequence) where status = 'queued'`.execute(
      db,
    )
  },
}
