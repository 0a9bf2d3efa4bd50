import type { Db } from '../../platform/db/schema.ts'
import type { AdoptedContainerRow } from '../../platform/db/tables/migration.ts'

/** All SQL of what was adopted. */

/**
 * Container id → the project that has it, on whichever server: a machine may be known as two. A project that was deleted gives
 * them back.
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

/** Projects that have not replaced what they were adopted from, or none of those on one server. */
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
