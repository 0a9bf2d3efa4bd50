import type { Kysely } from 'kysely'

export const migration = {
  name: '009-stream-token-minters',
  async up(db: Kysely<unknown>): Promise<void> {
    // They live for a minute; who minted an old one is not known, so that it would open nothing.
    await db.schema.alterTable('streamTokens').addColumn('tokenId', 'text').execute()
    await db.schema.alterTable('streamTokens').addColumn('sessionId', 'text').execute()
  },
}
