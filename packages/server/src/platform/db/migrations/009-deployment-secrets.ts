import type { Kysely } from 'kysely'

export const migration = {
  name: '009-deployment-secrets',
  async up(db: Kysely<unknown>): Promise<void> {
    // Of older deployments it is not known; there, what is secret today counts.
    await db.schema.alterTable('deployments').addColumn('envSecretKeys', 'text').execute()
  },
}
