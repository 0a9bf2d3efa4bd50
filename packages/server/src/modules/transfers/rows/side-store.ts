import type { Insertable, Updateable } from 'kysely'
import type { Db } from '../../../platform/db/schema.ts'
import type { TransferSideRow, TransferSidesTable } from '../../../platform/db/tables/transfers.ts'

/** SQL of the sides of transfers: exports and imports of this instance. */

export type SideChanges = Omit<Updateable<TransferSidesTable>, 'id' | 'side' | 'state' | 'organizationId'>

export const findSide = (db: Db, id: string): Promise<TransferSideRow | undefined> =>
  db.selectFrom('transferEnds').selectAll().where('id', '=', id).executeTakeFirst()

/** False when the id already exists. */
export async function insertSide(db: Db, row: Insertable<TransferSidesTable>): Promise<boolean> {
  const inserted = await db
    .insertInto('transferEnds')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst()
  return inserted !== undefined
}

export const updateSide = (db: Db, id: string, changes: SideChanges): Promise<unknown> =>
  db.updateTable('transferEnds').set(changes).where('id', '=', id).execute()

export const deleteSide = (db: Db, id: string): Promise<unknown> => db.deleteFrom('transferEnds').where('id', '=', id).execute()

const endedStates: readonly TransferSideRow['state'][] = ['departed', 'active', 'aborted']

export const hasEnded = ({ state }: Pick<TransferSideRow, 'state'>): boolean => endedStates.includes(state)

export const openSides = (db: Db): Promise<TransferSideRow[]> =>
  db.selectFrom('transferEnds').selectAll().where('state', 'not in', endedStates).execute()

export const openSidesOfProject = (db: Db, projectId: string): Promise<TransferSideRow[]> =>
  db.selectFrom('transferEnds').selectAll().where('projectId', '=', projectId).where('state', 'not in', endedStates).execute()

export const openSidesOfOrganization = (db: Db, organizationId: string): Promise<TransferSideRow[]> =>
  db
    .selectFrom('transferEnds')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('state', 'not in', endedStates)
    .orderBy('createdAt')
    .orderBy('id')
    .execute()

export async function openImports(db: Db, organizationId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('transferEnds')
    .select('id')
    .where('organizationId', '=', organizationId)
    .where('side', '=', 'arrival')
    .where('state', 'not in', endedStates)
    .execute()
  return rows.map(({ id }) => id)
}

export async function newestExport(db: Db, projectId: string): Promise<string | undefined> {
  const newest = await db
    .selectFrom('transferEnds')
    .select('id')
    .where('projectId', '=', projectId)
    .where('side', '=', 'departure')
    .where('state', '=', 'departed')
    .orderBy('createdAt', 'desc')
    .limit(1)
    .executeTakeFirst()
  return newest?.id
}

/** Whether the project was transferred away and has not come back: its completed export is kept until then. */
export async function hasLeft(db: Db, projectId: string): Promise<boolean> {
  return (await newestExport(db, projectId)) !== undefined
}

export const deleteExports = (db: Db, projectId: string): Promise<unknown> =>
  db
    .deleteFrom('transferEnds')
    .where('projectId', '=', projectId)
    .where('side', '=', 'departure')
    .where('state', '=', 'departed')
    .execute()

/** Deletes sides that ended before that time, except exports. */
export const deleteEndedBefore = (db: Db, before: number): Promise<unknown> =>
  db.deleteFrom('transferEnds').where('state', 'in', ['active', 'aborted']).where('touchedAt', '<', before).execute()
