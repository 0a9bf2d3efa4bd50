import type { Kysely } from 'kysely'

export const migration = {
  name: '070-required-second-factor',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('organizations')
      .addColumn('requireTwoFactor', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
  },
}
