import type { Kysely } from 'kysely'

/** Applications at git hosts that operators set up in the dashboard, and the host that each connection belongs to. */
export const migration = {
  name: '055-git-applications',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('gitApplications')
      .addColumn('provider', 'text', (column) => column.primaryKey())
      .addColumn('version', 'text', (column) => column.notNull())
      .addColumn('url', 'text', (column) => column.notNull())
      .addColumn('appId', 'bigint')
      .addColumn('appSlug', 'text')
      .addColumn('clientId', 'text', (column) => column.notNull())
      .addColumn('secrets', 'text', (column) => column.notNull())
      .addColumn('createdBy', 'text')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('updatedAt', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema.alterTable('gitConnections').addColumn('hostUrl', 'text').execute()
  },
}
