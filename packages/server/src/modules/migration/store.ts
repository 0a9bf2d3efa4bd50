import type { Db } from '../../platform/db/schema.ts'
import type { AdoptedContainerRow } from '../../platform/db/tables/migration.ts'

/** All SQL of what was adopted. */

/** Container id → the project that has it. A project that was deleted gives them back. */
export async function adoptedContainers(db: Db, serverId: string): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('adoptedContainers')
    .select(['containerId', 'projectId'])
    .where('serverId', '=', serverId)
    .execute()
  return new Map(rows.map(({ containerId, projectId }) => [containerId, projectId]))
}

export const insertAdopted = (db: Db, row: AdoptedContainerRow): Promise<unknown> =>
  db.insertInto('adoptedContainers').values(row).execute()

export const listAdopted = (db: Db, projectId: string): Promise<AdoptedContainerRow[]> =>
  db.selectFrom('adoptedContainers').selectAll().where('projectId', '=', projectId).orderBy('containerName').execute()

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
