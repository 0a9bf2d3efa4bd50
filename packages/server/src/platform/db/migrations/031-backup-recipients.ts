import type { Kysely } from 'kysely'

/** Records the key that decrypts a backup run, so that a lost key is noticed before a restore needs it. */
export const migration = {
  name: '031-backup-recipients',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('backupRuns').addColumn('recipient', 'text').execute()
  },
}
