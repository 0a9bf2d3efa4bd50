import type { Kysely } from 'kysely'

/** An upload may be sent directly to an object store. It must match the size and hash declared when its session was opened. */
export const migration = {
  name: '032-upload-places',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await schema.alterTable('uploadSessions').addColumn('declaredBytes', 'bigint').execute()
    await schema.alterTable('uploadSessions').addColumn('declaredSha256', 'text').execute()
    await schema
      .alterTable('uploadSessions')
      .addColumn('inStore', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await schema
      .createIndex('uploadSessionsByOrganization')
      .on('uploadSessions')
      .columns(['organizationId', 'expiresAt'])
      .execute()
  },
}
