import { type Kysely, sql } from 'kysely'

/**
 * Adds the machine that runs projects, and the machine of each instance and volume: null on an SSH server, and until the first
 * start after this migration. A volume records whether its data was created; all volumes before this migration count as created.
 */
export const migration = {
  name: '057-machines',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('machines')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('hostname', 'text', (column) => column.notNull())
      .addColumn('dataDir', 'text', (column) => column.notNull())
      .addColumn('role', 'text', (column) => column.notNull())
      .addColumn('location', 'text', (column) => column.notNull())
      .addColumn('sessionToken', 'text')
      .addColumn('startedAt', 'bigint', (column) => column.notNull())
      .addColumn('seenAt', 'bigint', (column) => column.notNull())
      .execute()
    for (const table of ['instances', 'volumes']) await db.schema.alterTable(table).addColumn('machineId', 'text').execute()
    await db.schema
      .alterTable('volumes')
      .addColumn('hasData', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await sql`update volumes set "hasData" = 1`.execute(db)
  },
}
