import type { Kysely } from 'kysely'

export const migration = {
  name: '013-previews',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await schema
      .alterTable('projects')
      .addColumn('previewsMaximum', 'integer', (column) => column.notNull().defaultTo(10))
      .execute()
    await schema
      .alterTable('projects')
      .addColumn('previewsMaxAgeDays', 'integer', (column) => column.defaultTo(30))
      .execute()
    await schema
      .alterTable('projects')
      .addColumn('previewsUseProduction', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await schema.alterTable('environments').addColumn('pullRequest', 'integer').execute()
    await schema.alterTable('environments').addColumn('deletingSince', 'bigint').execute()
  },
}
