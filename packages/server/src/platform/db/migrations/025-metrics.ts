import type { Kysely } from 'kysely'

export const migration = {
  name: '025-metrics',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await schema
      .createTable('metrics')
      .addColumn('environmentId', 'text', (column) => column.notNull().references('environments.id').onDelete('cascade'))
      .addColumn('spanSeconds', 'integer', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('counter', 'text', (column) => column.notNull())
      .addColumn('requests', 'bigint', (column) => column.notNull())
      .addColumn('errors4xx', 'bigint', (column) => column.notNull())
      .addColumn('errors5xx', 'bigint', (column) => column.notNull())
      .addColumn('bytesOut', 'bigint', (column) => column.notNull())
      .addColumn('latency', 'text')
      .addColumn('cpuMs', 'bigint', (column) => column.notNull())
      .addColumn('observedMs', 'bigint', (column) => column.notNull())
      .addColumn('memoryKb', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('metricsOnce', ['environmentId', 'spanSeconds', 'at', 'counter'])
      .execute()
    await schema.createIndex('metricsByAge').on('metrics').columns(['spanSeconds', 'at']).execute()
  },
}
