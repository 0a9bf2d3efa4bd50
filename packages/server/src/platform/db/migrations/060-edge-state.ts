import type { Kysely } from 'kysely'

/** The state of the edge and how the worker's machine runs projects, for API processes. */
export const migration = {
  name: '060-edge-state',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('edgeStates')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('epoch', 'text', (column) => column.notNull())
      .addColumn('version', 'bigint', (column) => column.notNull())
      .addColumn('problem', 'text')
      .addColumn('httpPort', 'integer', (column) => column.notNull())
      .addColumn('httpsPort', 'integer')
      .execute()
    await db.schema
      .createTable('edgeEntries')
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('text', 'text')
      .addColumn('tls', 'text')
      .addColumn('version', 'bigint', (column) => column.notNull())
      .addColumn('isRemoved', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('edgeEntriesKey', ['kind', 'name'])
      .execute()
    await db.schema.createIndex('edgeEntriesByVersion').on('edgeEntries').column('version').execute()
    for (const column of ['runtime', 'isolationKind', 'isolationMessage'])
      await db.schema.alterTable('machines').addColumn(column, 'text').execute()
  },
}
