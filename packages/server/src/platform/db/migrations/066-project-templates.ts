import type { Kysely } from 'kysely'

export const migration = {
  name: '066-project-templates',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('projectTemplates')
      .addColumn('projectId', 'text', (column) => column.primaryKey().references('projects.id').onDelete('cascade'))
      .addColumn('templateId', 'text', (column) => column.notNull())
      .addColumn('version', 'text', (column) => column.notNull())
      .addColumn('service', 'text')
      .addColumn('port', 'integer')
      .addColumn('linkVariables', 'text', (column) => column.notNull())
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .execute()
  },
}
