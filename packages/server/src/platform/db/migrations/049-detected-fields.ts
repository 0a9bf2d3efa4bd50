import type { Kysely } from 'kysely'

/**
 * Stores the result of a source scan with the upload that was scanned and with the project whose fields were taken from it, and the
 * hash of a deployment's source, to be compared with the project's source later.
 */
export const migration = {
  name: '049-detected-fields',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('uploadSessions').addColumn('scan', 'text').execute()
    await db.schema.alterTable('projects').addColumn('detected', 'text').execute()
    await db.schema.alterTable('deployments').addColumn('sourceHash', 'text').execute()
  },
}
