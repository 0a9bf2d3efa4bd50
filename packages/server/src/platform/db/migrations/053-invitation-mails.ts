import type { Kysely } from 'kysely'

/** Invitation mails, for the limits per mailbox and per organisation. */
export const migration = {
  name: '053-invitation-mails',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('invitationMails')
      .addColumn('invitationId', 'text', (column) => column.primaryKey())
      .addColumn('organizationId', 'text', (column) => column.notNull())
      .addColumn('email', 'text', (column) => column.notNull())
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema.createIndex('invitationMailsByTime').on('invitationMails').column('createdAt').execute()
  },
}
