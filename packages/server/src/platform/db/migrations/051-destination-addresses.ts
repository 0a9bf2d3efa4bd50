import { type Kysely, sql } from 'kysely'

/**
 * Destinations on this machine are for operators. Those of the organisation made at set-up stay as they are; others are believed when an
 * operator saves them.
 */
export const migration = {
  name: '051-destination-addresses',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('backupDestinations')
      .addColumn('mayBeHere', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await sql`update "backupDestinations" set "mayBeHere" = 1
      where "organizationId" in (select value from instance where key = 'setupOrganizationId')`.execute(db)
  },
}
