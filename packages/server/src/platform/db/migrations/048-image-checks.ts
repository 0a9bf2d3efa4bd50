import { type Kysely, sql } from 'kysely'

/** The next registry check of a project's image, and deploy hooks. */
export const migration = {
  name: '048-image-checks',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('imageChecks')
      .addColumn('projectId', 'text', (column) => column.primaryKey().references('projects.id').onDelete('cascade'))
      .addColumn('nextAt', 'bigint', (column) => column.notNull())
      .addColumn('digest', 'text')
      .execute()
    await sql`create index "projectsOfImage" on projects (id) where image is not null`.execute(db)
    await db.schema
      .createTable('deployHooks')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('projectId', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('branch', 'text')
      .addColumn('environment', 'text', (column) => column.notNull())
      .addColumn('tokenHash', 'text', (column) => column.notNull().unique())
      .addColumn('lastUsedAt', 'bigint')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema.createIndex('deployHooksOfProject').on('deployHooks').columns(['projectId', 'createdAt']).execute()
  },
}
