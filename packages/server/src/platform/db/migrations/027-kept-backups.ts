import type { Kysely } from 'kysely'

export const migration = {
  name: '027-kept-backups',
  async up({ schema }: Kysely<unknown>): Promise<void> {
    await schema.alterTable('backupRuns').addColumn('formerPolicyId', 'text').execute()
    await schema.alterTable('backupRuns').addColumn('retainCount', 'integer').execute()
    await schema.alterTable('backupRuns').addColumn('retainDays', 'integer').execute()
    await schema
      .alterTable('backupArtifacts')
      .addColumn('damaged', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
  },
}
