import type { Kysely } from 'kysely'

/**
 * What a scan has detected: kept with the upload that it read, and with the project whose fields were taken from it. And the
 * source that a deployment was made of, to be compared with the project's later.
 */
export const migration = {
  name: '049-detected-fields',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('uploadSessions').addColumn('scan', 'text').execute()
    await db.schema.alterTable('projects').addColumn('detected', 'text').execute()
    await db.schema.alterTable('deployments').addColumn('sourceHash', 'text').execute()
  },
}
