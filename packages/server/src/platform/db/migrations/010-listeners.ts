import type { Kysely } from 'kysely'

export const migration = {
  name: '010-listeners',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await schema.alterTable('instances').addColumn('listener', 'text').execute()
  },
}
