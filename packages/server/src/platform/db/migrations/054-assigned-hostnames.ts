import type { Kysely } from 'kysely'

/** Certificates of host names that Berth assigns, the orders placed for rate limits, and the check of served certificates. */
export const migration = {
  name: '054-assigned-hostnames',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('assignedHostnames')
      .addColumn('hostname', 'text', (column) => column.primaryKey())
      .addColumn('tls', 'text', (column) => column.notNull())
      .addColumn('reason', 'text')
      .addColumn('nextOrderAt', 'bigint')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('certificateOrders')
      .addColumn('hostname', 'text', (column) => column.notNull())
      .addColumn('zone', 'text', (column) => column.notNull())
      .addColumn('startedAt', 'bigint', (column) => column.notNull())
      .addColumn('outcome', 'text', (column) => column.notNull())
      .addColumn('retryAt', 'bigint')
      .addPrimaryKeyConstraint('certificateOrdersKey', ['hostname', 'startedAt'])
      .execute()
    await db.schema.createIndex('certificateOrdersByTime').on('certificateOrders').column('startedAt').execute()
    await db.schema.alterTable('certificates').addColumn('checkedAt', 'bigint').execute()
    await db.schema.alterTable('certificates').addColumn('problem', 'text').execute()
  },
}
