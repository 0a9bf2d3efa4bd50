import { type Kysely, sql } from 'kysely'

/**
 * Adds the organisation whose slots a job uses, with an index in which the most urgent job of each organisation comes first. Adds
 * the times of the clock checks, which detect clock jumps.
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
