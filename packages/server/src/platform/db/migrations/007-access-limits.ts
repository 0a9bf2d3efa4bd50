import { type Kysely, sql } from 'kysely'

/** Tokens end with the token that created them, stream tokens with their credential. An upload can be limited to one project. */
export const migration = {
  name: '007-access-limits',
  async up(db: Kysely<unknown>): Promise<void> {
    const { schema } = db
    await schema
      .alterTable('tokens')
      .addColumn('parentId', 'text', (column) => column.references('tokens.id').onDelete('cascade'))
      .execute()
    await schema.createIndex('tokensOfParent').on('tokens').column('parentId').execute()
    // Stream tokens expire after a minute.
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
    // On an existing instance, the first organisation is the one created at set-up.
    await sql`insert into instance (key, value)
      select 'setupOrganizationId', id from organizations order by "createdAt", id limit 1`.execute(db)
  },
}
