import type { Kysely } from 'kysely'

/** When a pull request was last changed, as its host says: a report of an earlier state is told by it. */
export const migration = {
  name: '034-pull-request-times',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('pullRequests').addColumn('changedAt', 'bigint').execute()
  },
}
