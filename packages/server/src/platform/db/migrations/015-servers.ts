import type { Kysely } from 'kysely'

export const migration = {
  name: '015-servers',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await schema
      .createTable('servers')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('organizationId', 'text', (column) => column.notNull().references('organizations.id').onDelete('cascade'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('port', 'integer', (column) => column.notNull())
      .addColumn('user', 'text', (column) => column.notNull())
      .addColumn('authentication', 'text', (column) => column.notNull())
      .addColumn('credential', 'text')
      .addColumn('dockerSocket', 'text', (column) => column.notNull())
      .addColumn('hostKey', 'text')
      .addColumn('hostKeyType', 'text')
      .addColumn('mayBeHere', 'integer', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('statusReason', 'text')
      .addColumn('checkedAt', 'bigint')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('updatedAt', 'bigint', (column) => column.notNull())
      .execute()
    await schema.createIndex('serversOfOrganization').on('servers').columns(['organizationId', 'createdAt']).execute()
  },
}
