import type { Kysely } from 'kysely'

/** More than one service of a project can be reached: what the settings say of it, and what is served. */
export const migration = {
  name: '030-service-routes',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('projects').addColumn('serviceRoutes', 'text').execute()
    await db.schema.alterTable('liveEnvironments').addColumn('serviceRoutes', 'text').execute()
  },
}
