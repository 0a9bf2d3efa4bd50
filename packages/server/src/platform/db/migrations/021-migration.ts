import type { Kysely } from 'kysely'

export const migration = {
  name: '021-migration',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await schema
      .createTable('adoptedContainers')
      .addColumn('serverId', 'text', (column) => column.notNull())
      .addColumn('containerId', 'text', (column) => column.notNull())
      .addColumn('containerName', 'text', (column) => column.notNull())
      .addColumn('projectId', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
      .addColumn('service', 'text', (column) => column.notNull())
      .addColumn('holdsVolume', 'integer', (column) => column.notNull())
      .addColumn('before', 'text')
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('adoptedAt', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('adoptedContainersKey', ['serverId', 'containerId'])
      .execute()
    await schema.alterTable('volumes').addColumn('adopted', 'text').execute()
    await schema.createIndex('adoptedContainersProject').on('adoptedContainers').columns(['projectId']).execute()
  },
}
