import type { Kysely } from 'kysely'

export const migration = {
  name: '024-cloud-mode',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await schema
      .alterTable('streamTokens')
      .addColumn('elsewhere', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
  },
}
