import type { Db } from '../../platform/db/schema.ts'
import type { AdoptedContainerRow } from '../../platform/db/tables/migration.ts'

/** SQL of adopted containers and volumes. */

/**
 * Container id to the project that adopted it, on any server, since one machine may be added as two. Deleting a project
 * releases its containers.
 */
export async function adoptedContainers(db: Db, organizationId: string): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('adoptedContainers')
    .select(['containerId', 'projectId'])
    .where('organizationId', '=', organizationId)
    .execute()
  return new Map(rows.map(({ containerId, projectId }) => [containerId, projectId]))
}

export const insertAdopted = (db: Db, row: AdoptedContainerRow): Promise<unknown> =>
  db.insertInto('adoptedContainers').values(row).execute()

export const listAdopted = (db: Db, projectId: string): Promise<AdoptedContainerRow[]> =>
  db.selectFrom('adoptedContainers').selectAll().where('projectId', '=', projectId).orderBy('containerName').execute()

/** Projects that have not yet replaced the containers they were adopted from, by server. */
export const listUnsettled = (db: Db): Promise<Pick<AdoptedContainerRow, 'serverId' | 'projectId'>[]> =>
  db.selectFrom('adoptedContainers').select(['serverId', 'projectId']).distinct().where('state', '!=', 'handed_over').execute()

type Changes = Pick<AdoptedContainerRow, 'state'> & Partial<Pick<AdoptedContainerRow, 'before'>>

export async function transitionAdopted(db: Db, row: AdoptedContainerRow, changes: Changes): Promise<void> {
  const { serverId, containerId } = row
  await db
    .updateTable('adoptedContainers')
    .set(changes)
    .where('serverId', '=', serverId)
    .where('containerId', '=', containerId)
    .execute()
  Object.assign(row, changes)
}
