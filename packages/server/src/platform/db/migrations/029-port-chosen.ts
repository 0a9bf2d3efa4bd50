import { type Kysely, sql } from 'kysely'

/** Records whether a user set the port. If not, the port detected in the source is used. */
export const migration = {
  name: '029-port-chosen',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('projects')
      .addColumn('portChosen', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await sql`update "projects" set "portChosen" = 1 where "port" <> 3000`.execute(db)
  },
}
