import type { Kysely } from 'kysely'

/** The services of a project that have their own address: as configured, and as served. */
export const migration = {
  name: '030-service-routes',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('projects').addColumn('serviceRoutes', 'text').execute()
    await db.schema.alterTable('liveEnvironments').addColumn('serviceRoutes', 'text').execute()
  },
}
