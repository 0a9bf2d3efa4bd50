import type { Kysely } from 'kysely'

export const migration = {
  name: '005-edge',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('certificates')
      .addColumn('hostname', 'text', (column) => column.primaryKey())
      .addColumn('certificate', 'text', (column) => column.notNull())
      .addColumn('privateKey', 'text', (column) => column.notNull())
      .addColumn('expiresAt', 'bigint', (column) => column.notNull())
      .addColumn('issuedAt', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('acmeAccounts')
      .addColumn('directoryUrl', 'text', (column) => column.primaryKey())
      .addColumn('privateKey', 'text', (column) => column.notNull())
      .addColumn('accountUrl', 'text')
      .execute()
    await db.schema
      .createTable('acmeChallenges')
      .addColumn('token', 'text', (column) => column.primaryKey())
      .addColumn('keyAuthorization', 'text', (column) => column.notNull())
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .execute()
  },
}
