import type { Kysely } from 'kysely'

/** Build arguments and the stage to build of a project's Dockerfile, and the warnings of a deployment. */
export const migration = {
  name: '043-build-settings',
  async up(db: Kysely<unknown>): Promise<void> {
    for (const column of ['buildArgs', 'buildTarget']) await db.schema.alterTable('projects').addColumn(column, 'text').execute()
    await db.schema.alterTable('deployments').addColumn('warnings', 'text').execute()
  },
}
