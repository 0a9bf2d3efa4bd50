import { type Kysely, sql } from 'kysely'

/**
 * Only operators may use destinations on this machine. Existing destinations of the organisation created at set-up are allowed;
 * others are allowed when an operator saves them.
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
