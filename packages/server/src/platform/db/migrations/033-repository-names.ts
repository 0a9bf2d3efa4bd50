import { type Kysely, sql } from 'kysely'

/** Hosts take `Acme/Shop` and `acme/shop` for one, and so every delivery asks without case: the index that was there served nobody. */
export const migration = {
  name: '033-repository-names',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.dropIndex('projectsOfRepository').execute()
    await db.schema
      .createIndex('projectsOfRepository')
      .on('projects')
      .expression(sql`lower("gitOwner"), lower("gitRepo")`)
      .execute()
  },
}
