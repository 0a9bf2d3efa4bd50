import type { Kysely } from 'kysely'

/** Where a session was opened and when it was used; two-factor authentication; password resets by mail. */
export const migration = {
  name: '058-accounts',
  async up(db: Kysely<unknown>): Promise<void> {
    const { schema } = db
    await schema.alterTable('sessions').addColumn('lastUsedAt', 'bigint').execute()
    await schema.alterTable('sessions').addColumn('ip', 'text').execute()
    await schema.alterTable('sessions').addColumn('userAgent', 'text').execute()
    await schema.createIndex('sessionsOfUser').on('sessions').columns(['userId', 'createdAt']).execute()
    await schema
      .createTable('totpFactors')
      .addColumn('userId', 'text', (column) => column.primaryKey().references('users.id').onDelete('cascade'))
      .addColumn('secret', 'text', (column) => column.notNull())
      .addColumn('confirmedAt', 'bigint')
      .addColumn('lastStep', 'bigint', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('attemptsSince', 'bigint', (column) => column.notNull())
      .execute()
    await schema
      .createTable('recoveryCodes')
      .addColumn('userId', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
      .addColumn('codeHash', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('recoveryCodesKey', ['userId', 'codeHash'])
      .execute()
    await schema
      .createTable('passwordResets')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('email', 'text', (column) => column.notNull())
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('expiresAt', 'bigint', (column) => column.notNull())
      .addColumn('usedAt', 'bigint')
      .execute()
    await schema.createIndex('passwordResetsByTime').on('passwordResets').column('createdAt').execute()
  },
}
