import type { Kysely } from 'kysely'

export const migration = {
  name: '009-deployment-secrets',
  async up(db: Kysely<unknown>): Promise<void> {
    // Null for older deployments: the variables that are secret now are used instead.
    await db.schema.alterTable('deployments').addColumn('envSecretKeys', 'text').execute()
  },
}
