import type { Kysely } from 'kysely'

/** Backups of the instance itself, on a schedule. */
export const migration = {
  name: '069-instance-backups',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('instanceBackupPolicies')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('organizationId', 'text', (column) => column.notNull())
      .addColumn('destinationId', 'text', (column) => column.notNull().references('backupDestinations.id'))
      .addColumn('cronExpression', 'text', (column) => column.notNull())
      .addColumn('timezone', 'text', (column) => column.notNull())
      .addColumn('retainCount', 'integer', (column) => column.notNull())
      .addColumn('content', 'text', (column) => column.notNull())
      .addColumn('updatedAt', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('instanceBackups')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('organizationId', 'text', (column) => column.notNull())
      .addColumn('destinationId', 'text', (column) => column.references('backupDestinations.id').onDelete('set null'))
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('trigger', 'text', (column) => column.notNull())
      .addColumn('content', 'text', (column) => column.notNull())
      .addColumn('objectName', 'text', (column) => column.notNull())
      .addColumn('bytesDone', 'bigint', (column) => column.notNull())
      .addColumn('sizeBytes', 'bigint')
      .addColumn('errorCode', 'text')
      .addColumn('errorMessage', 'text')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('startedAt', 'bigint')
      .addColumn('finishedAt', 'bigint')
      .execute()
    await db.schema.createIndex('instanceBackupsInOrder').on('instanceBackups').columns(['createdAt', 'id']).execute()
  },
}
