import type { Kysely } from 'kysely'

/** Passkeys, and the challenges that were used. */
export const migration = {
  name: '071-passkeys',
  async up(db: Kysely<unknown>): Promise<void> {
    const { schema } = db
    await schema
      .createTable('passkeys')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('userId', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('credentialId', 'text', (column) => column.notNull().unique())
      .addColumn('publicKey', 'text', (column) => column.notNull())
      .addColumn('hostname', 'text', (column) => column.notNull())
      .addColumn('counter', 'bigint', (column) => column.notNull())
      .addColumn('isSynced', 'integer', (column) => column.notNull())
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('lastUsedAt', 'bigint')
      .execute()
    await schema.createIndex('passkeysOfUser').on('passkeys').columns(['userId', 'createdAt']).execute()
    await schema
      .createTable('spentChallenges')
      .addColumn('challengeHash', 'text', (column) => column.primaryKey())
      .addColumn('expiresAt', 'bigint', (column) => column.notNull())
      .execute()
    await schema.createIndex('spentChallengesByTime').on('spentChallenges').column('expiresAt').execute()
  },
}
