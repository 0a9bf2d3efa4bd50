import type { Kysely } from 'kysely'

export const migration = {
  name: '062-project-links',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('projectLinks')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('projectId', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
      .addColumn('environment', 'text', (column) => column.notNull())
      .addColumn('serviceProjectId', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
      .addColumn('prefix', 'text')
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('createdBy', 'text')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema
      .createIndex('projectLinksOfProject')
      .on('projectLinks')
      .columns(['projectId', 'environment', 'serviceProjectId'])
      .unique()
      .execute()
    await db.schema.createIndex('projectLinksOfService').on('projectLinks').columns(['serviceProjectId', 'id']).execute()
  },
}
