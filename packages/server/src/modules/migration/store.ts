import type { Db } from '../../platform/db/schema.ts'

/** All SQL of what was adopted. */

/** Container id → the slug of the project that has it. A project that was deleted gives them back. */
export async function adoptedContainers(db: Db, serverId: string): Promise<Map<string, string>> {
  const rows = await db.selectFrom('adoptedContainers').select(['containerId', 'projectId']).where('serverId', '=', serverId).execute()
  return new Map(rows.map(({ containerId, projectId }) => [containerId, projectId]))
}
