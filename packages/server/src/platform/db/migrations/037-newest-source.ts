import { type Kysely, sql } from 'kysely'

/** The expiry that `projects/uploads/upload-claim.ts` sets for a session in use. */
const never = 8_640_000_000_000_000

interface Tables {
  projects: { id: string; gitProvider: string | null; uploadSessionId: string | null; envVersion: number }
  environments: { id: string; uploadSessionId: string | null }
  uploadSessions: { id: string; status: string; expiresAt: number; createdAt: number }
  deployments: {
    id: string
    projectId: string
    environment: string
    number: number
    status: string
    source: string
    artifacts: string | null
    uploadSessionId: string | null
  }
}

/**
 * Adds the upload of an environment, the upload of a deployment, and the hashes of a deployment's settings, which show later
 * changes. Claims the uploads of deployments in the rollback window. A project whose newest deployment has a newer upload than
 * the project gets that upload as its source.
 */
export const migration = {
  name: '037-newest-source',
  async up(db: Kysely<unknown>): Promise<void> {
    const { schema } = db
    await schema.alterTable('environments').addColumn('uploadSessionId', 'text').execute()
    await schema.alterTable('deployments').addColumn('uploadSessionId', 'text').execute()
    await schema.alterTable('deployments').addColumn('configHash', 'text').execute()
    await schema.alterTable('deployments').addColumn('resourcesHash', 'text').execute()
    await schema.alterTable('deployments').addColumn('envVersion', 'integer').execute()
    await schema
      .alterTable('projects')
      .addColumn('envVersion', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    for (const table of ['projects', 'environments', 'deployments'])
      await schema.createIndex(`${table}ByUpload`).on(table).column('uploadSessionId').execute()
    await claimUploads(db as Kysely<Tables>)
  },
}

async function claimUploads(db: Kysely<Tables>): Promise<void> {
  const rows = await db
    .selectFrom('deployments')
    .select(['id', 'projectId', 'environment', 'number', 'status', 'source', 'artifacts'])
    .where('source', 'like', '%"upload"%')
    .orderBy('number')
    .execute()
  const newest = new Map<string, { id: string; createdAt: number }>()
  for (const row of rows) {
    const { kind, sessionId } = JSON.parse(row.source) as { kind?: string; sessionId?: string }
    if (kind !== 'upload' || !sessionId) continue
    const session = await db
      .selectFrom('uploadSessions')
      .select(['id', 'createdAt'])
      .where('id', '=', sessionId)
      .where('status', '=', 'received')
      .executeTakeFirst()
    if (!session) continue
    if (row.environment === 'production') newest.set(row.projectId, session)
    const isKept = ['queued', 'building', 'deploying', 'live'].includes(row.status) || row.artifacts !== null
    if (!isKept) continue
    await db.updateTable('deployments').set({ uploadSessionId: sessionId }).where('id', '=', row.id).execute()
    await db.updateTable('uploadSessions').set({ expiresAt: never }).where('id', '=', sessionId).execute()
  }
  for (const [projectId, session] of newest) {
    const currentUploadTime = sql<number>`coalesce((select "createdAt" from "uploadSessions" where "id" = "projects"."uploadSessionId"), 0)`
    const updated = await db
      .updateTable('projects')
      .set({ uploadSessionId: session.id })
      .where('id', '=', projectId)
      .where('gitProvider', '=', 'upload')
      .where(currentUploadTime, '<', session.createdAt)
      .returning('id')
      .executeTakeFirst()
    if (updated) await db.updateTable('uploadSessions').set({ expiresAt: never }).where('id', '=', session.id).execute()
  }
}
