import type { Kysely } from 'kysely'

/** The status of each service of an environment, completed instances, and the number of restarts of services. */
export const migration = {
  name: '044-service-states',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('liveEnvironments').addColumn('services', 'text').execute()
    await db.schema
      .alterTable('instances')
      .addColumn('completed', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await db.schema
      .alterTable('metrics')
      .addColumn('restarts', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
  },
}
