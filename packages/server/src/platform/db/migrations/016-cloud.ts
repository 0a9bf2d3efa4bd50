import type { Kysely } from 'kysely'

export const migration = {
  name: '016-cloud',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await schema
      .createTable('cloudLinks')
      .addColumn('organizationId', 'text', (column) => column.primaryKey().references('organizations.id').onDelete('cascade'))
      .addColumn('url', 'text', (column) => column.notNull())
      .addColumn('token', 'text', (column) => column.notNull())
      .addColumn('tokenLastFour', 'text', (column) => column.notNull())
      .addColumn('remoteOrganizationId', 'text', (column) => column.notNull())
      .addColumn('tokenExpiresAt', 'bigint')
      .addColumn('mayBeInside', 'integer', (column) => column.notNull())
      .addColumn('linkedBy', 'text', (column) => column.notNull())
      .addColumn('linkedAt', 'bigint', (column) => column.notNull())
      .execute()
  },
}
