import type { Kysely } from 'kysely'

/** Where a connected domain resolved to at its last check. */
export const migration = {
  name: '067-domain-addresses',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('domains').addColumn('pointsHere', 'integer').execute()
    await db.schema.alterTable('domains').addColumn('resolvesTo', 'text').execute()
  },
}
