import type { Kysely } from 'kysely'

/** Profiles of a project's Compose file, and the replica number of an instance. */
export const migration = {
  name: '046-compose-profiles',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('projects').addColumn('composeProfiles', 'text').execute()
    await db.schema
      .alterTable('instances')
      .addColumn('replica', 'integer', (column) => column.notNull().defaultTo(1))
      .execute()
  },
}
