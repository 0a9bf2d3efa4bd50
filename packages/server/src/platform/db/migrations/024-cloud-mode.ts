import type { Kysely } from 'kysely'

export const migration = {
  name: '024-cloud-mode',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await schema
      .alterTable('streamTokens')
      .addColumn('elsewhere', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await schema
      .createTable('signUps')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('email', 'text', (column) => column.notNull())
      .addColumn('client', 'text')
      .addColumn('invitedBy', 'text')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('expiresAt', 'bigint', (column) => column.notNull())
      .addColumn('usedAt', 'bigint')
      .execute()
    await schema.alterTable('organizations').addColumn('quotas', 'text').execute()
    await schema.alterTable('jobs').addColumn('poolKey', 'text').execute()
    await schema.alterTable('jobs').addColumn('poolLimit', 'integer').execute()
    await schema.createIndex('jobsOfPool').on('jobs').columns(['poolKey', 'status']).execute()
    await schema.createIndex('signUpsByAge').on('signUps').column('createdAt').execute()
  },
}
