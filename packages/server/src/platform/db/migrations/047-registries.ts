import type { Kysely } from 'kysely'

/** Logins at image registries, and the image of a project that runs an image. */
export const migration = {
  name: '047-registries',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await schema
      .createTable('registryLogins')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('organizationId', 'text', (column) => column.notNull().references('organizations.id').onDelete('cascade'))
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('username', 'text', (column) => column.notNull())
      .addColumn('password', 'text', (column) => column.notNull())
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('updatedAt', 'bigint', (column) => column.notNull())
      .execute()
    await schema.createIndex('registryLoginOfHost').on('registryLogins').columns(['organizationId', 'host']).unique().execute()
    await schema.alterTable('projects').addColumn('image', 'text').execute()
  },
}
