import { type Kysely, sql } from 'kysely'

/**
 * Git hosts treat `Acme/Shop` and `acme/shop` as the same repository, so webhook deliveries search case-insensitively, which the
 * old index did not support.
 */
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
