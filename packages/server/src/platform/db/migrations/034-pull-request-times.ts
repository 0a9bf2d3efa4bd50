import type { Kysely } from 'kysely'

/** The time of the last change of a pull request, as reported by its git host; it identifies outdated reports. */
export const migration = {
  name: '034-pull-request-times',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('pullRequests').addColumn('changedAt', 'bigint').execute()
  },
}
