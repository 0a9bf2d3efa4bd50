import type { Kysely } from 'kysely'

/** Which key opens a run, so that the loss of a key is noticed before somebody needs it. */
export const migration = {
  name: '031-backup-recipients',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('backupRuns').addColumn('recipient', 'text').execute()
  },
}
