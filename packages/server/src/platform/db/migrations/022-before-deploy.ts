import type { Kysely } from 'kysely'

export const migration = {
  name: '022-before-deploy',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await schema
      .alterTable('backupPolicies')
      .addColumn('beforeDeploy', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
  },
}
