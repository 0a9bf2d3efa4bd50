import { type Kysely, sql } from 'kysely'

/** Tokens end with the one they were made with, a stream token with its credential; an upload can be for one project alone. */
export const migration = {
  name: '007-access-limits',
  async up(db: Kysely<unknown>): Promise<void> {
    const { schema } = db
    await schema
      .alterTable('tokens')
      .addColumn('parentId', 'text', (column) => column.references('tokens.id').onDelete('cascade'))
      .execute()
    await schema.createIndex('tokensOfParent').on('tokens').column('parentId').execute()
    // None of them lives longer than a minute.
    await sql`delete from "streamTokens"`.execute(db)
    await schema
      .alterTable('streamTokens')
      .addColumn('tokenId', 'text', (column) => column.references('tokens.id').onDelete('cascade'))
      .execute()
    await schema
      .alterTable('streamTokens')
      .addColumn('sessionId', 'text', (column) => column.references('sessions.id').onDelete('cascade'))
      .execute()
    await schema.alterTable('streamTokens').dropColumn('scopes').execute()
    await schema.alterTable('streamTokens').dropColumn('projectIds').execute()
    await schema.alterTable('uploadSessions').addColumn('projectId', 'text').execute()
    // An instance that is set up already: its first organisation is the one that set-up made.
    await sql`insert into instance (key, value)
      select 'setupOrganizationId', id from organizations order by "createdAt", id limit 1`.execute(db)
  },
}
