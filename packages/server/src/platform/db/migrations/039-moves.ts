import type { Kysely } from 'kysely'

export const migration = {
  name: '039-moves',
  async up(db: Kysely<unknown>): Promise<void> {
    const { schema } = db
    await schema.alterTable('projects').addColumn('carried', 'text').execute()
    await schema.alterTable('deployments').addColumn('importedAt', 'bigint').execute()
    await schema.alterTable('backupRuns').addColumn('importedAt', 'bigint').execute()
    await schema.alterTable('uploadSessions').addColumn('cloudSessionId', 'text').execute()
    await schema.alterTable('cloudLinks').addColumn('feedPosition', 'text').execute()
    await schema
      .createTable('cloudProjects')
      .addColumn('projectId', 'text', (column) => column.primaryKey())
      .addColumn('organizationId', 'text', (column) => column.notNull().references('organizations.id').onDelete('cascade'))
      .addColumn('cloud', 'text', (column) => column.notNull())
      .addColumn('localPath', 'text')
      .addColumn('movedAt', 'bigint', (column) => column.notNull())
      .addColumn('missingSince', 'bigint')
      .execute()
    await schema.createIndex('cloudProjectsOfOrganization').on('cloudProjects').column('organizationId').execute()
    await recordMoved(db as Kysely<Tables>)
  },
}

interface Tables {
  cloudTransfers: {
    organizationId: string
    projectId: string
    cloud: string
    direction: string
    phase: string
    createdAt: number
    finishedAt: number | null
  }
  projects: { id: string; localPath: string | null }
  cloudProjects: {
    projectId: string
    organizationId: string
    cloud: string
    localPath: string | null
    movedAt: number
    missingSince: number | null
  }
}

/** Projects whose newest finished move went to the cloud. */
async function recordMoved(db: Kysely<Tables>): Promise<void> {
  const moves = await db.selectFrom('cloudTransfers').selectAll().where('phase', '=', 'done').orderBy('createdAt').execute()
  for (const move of new Map(moves.map((one) => [one.projectId, one])).values()) {
    if (move.direction !== 'to_cloud') continue
    const { projectId, organizationId, cloud } = move
    const project = await db.selectFrom('projects').select('localPath').where('id', '=', projectId).executeTakeFirst()
    const localPath = project?.localPath ?? null
    const row = { projectId, organizationId, cloud, localPath, movedAt: move.finishedAt ?? move.createdAt, missingSince: null }
    await db.insertInto('cloudProjects').values(row).execute()
  }
}
