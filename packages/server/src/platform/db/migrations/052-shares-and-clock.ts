import { type Kysely, sql } from 'kysely'

/**
 * The organisation whose slots a job uses: its most urgent job is the first of its part of the index. And the times at which
 * the clock was looked at, to notice when it jumps.
 */
export const migration = {
  name: '052-shares-and-clock',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('jobs')
      .addColumn('ownerId', 'text', (column) => column.notNull().defaultTo(''))
      .execute()
    await db.schema.dropIndex('jobsOfKind').execute()
    await db.schema
      .createTable('clockMarks')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('seenAt', 'bigint', (column) => column.notNull())
      .addColumn('heldAt', 'bigint')
      .addColumn('steadySince', 'bigint', (column) => column.notNull())
      .execute()
    await sql`create index "jobsOfOwner" on jobs (kind, "ownerId", priority desc, "runAt", sequence) where status = 'queued'`.execute(
      db,
    )
  },
}
