import type { Kysely } from 'kysely'

export const migration = {
  name: '023-transfers',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await schema
      .alterTable('projects')
      .addColumn('presence', 'text', (column) => column.notNull().defaultTo('here'))
      .execute()
    await schema
      .createTable('transferEnds')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('side', 'text', (column) => column.notNull())
      .addColumn('organizationId', 'text', (column) => column.notNull().references('organizations.id').onDelete('cascade'))
      // No foreign key: the row of an import exists before its project, and that of an export outlives the project.
      .addColumn('projectId', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('withData', 'integer', (column) => column.notNull())
      .addColumn('recipient', 'text', (column) => column.notNull())
      .addColumn('signer', 'text', (column) => column.notNull())
      .addColumn('secrets', 'text')
      .addColumn('files', 'text', (column) => column.notNull())
      .addColumn('staged', 'text')
      .addColumn('deploymentId', 'text')
      .addColumn('tookOver', 'integer', (column) => column.notNull())
      .addColumn('warnings', 'text', (column) => column.notNull())
      .addColumn('errorCode', 'text')
      .addColumn('errorMessage', 'text')
      .addColumn('createdBy', 'text', (column) => column.notNull())
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('touchedAt', 'bigint', (column) => column.notNull())
      .execute()
    await schema.createIndex('transferEndsByProject').on('transferEnds').columns(['projectId', 'side']).execute()
    await schema
      .createTable('cloudTransfers')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('organizationId', 'text', (column) => column.notNull().references('organizations.id').onDelete('cascade'))
      .addColumn('projectId', 'text', (column) => column.notNull())
      .addColumn('projectName', 'text', (column) => column.notNull())
      .addColumn('direction', 'text', (column) => column.notNull())
      .addColumn('cloud', 'text', (column) => column.notNull())
      .addColumn('withData', 'integer', (column) => column.notNull())
      .addColumn('phase', 'text', (column) => column.notNull())
      .addColumn('bytesDone', 'bigint', (column) => column.notNull())
      .addColumn('bytesTotal', 'bigint')
      .addColumn('warnings', 'text', (column) => column.notNull())
      .addColumn('errorCode', 'text')
      .addColumn('errorMessage', 'text')
      .addColumn('createdBy', 'text')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('finishedAt', 'bigint')
      .execute()
    await schema.createIndex('cloudTransfersByProject').on('cloudTransfers').columns(['projectId', 'createdAt']).execute()
  },
}
