import type { Insertable, Updateable } from 'kysely'
import type { Db } from '../../../platform/db/schema.ts'
import type { TransferEndRow, TransferEndsTable } from '../../../platform/db/tables/transfers.ts'

/** SQL of the ends of moves. */

export type EndChanges = Omit<Updateable<TransferEndsTable>, 'id' | 'side' | 'state' | 'organizationId'>

export const findEnd = (db: Db, id: string): Promise<TransferEndRow | undefined> =>
  db.selectFrom('transferEnds').selectAll().where('id', '=', id).executeTakeFirst()

/** False when the id already exists. */
export async function insertEnd(db: Db, row: Insertable<TransferEndsTable>): Promise<boolean> {
  const inserted = await db
    .insertInto('transferEnds')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst()
  return inserted !== undefined
}

export const updateEnd = (db: Db, id: string, changes: EndChanges): Promise<unknown> =>
  db.updateTable('transferEnds').set(changes).where('id', '=', id).execute()

export const deleteEnd = (db: Db, id: string): Promise<unknown> => db.deleteFrom('transferEnds').where('id', '=', id).execute()

const over: readonly TransferEndRow['state'][] = ['departed', 'active', 'aborted']

export const isOver = ({ state }: Pick<TransferEndRow, 'state'>): boolean => over.includes(state)

export const listOpen = (db: Db): Promise<TransferEndRow[]> =>
  db.selectFrom('transferEnds').selectAll().where('state', 'not in', over).execute()

export const openOfProject = (db: Db, projectId: string): Promise<TransferEndRow[]> =>
  db.selectFrom('transferEnds').selectAll().where('projectId', '=', projectId).where('state', 'not in', over).execute()

export const openOfOrganization = (db: Db, organizationId: string): Promise<TransferEndRow[]> =>
  db
    .selectFrom('transferEnds')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('state', 'not in', over)
    .orderBy('createdAt')
    .orderBy('id')
    .execute()

export async function openArrivals(db: Db, organizationId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('transferEnds')
    .select('id')
    .where('organizationId', '=', organizationId)
    .where('side', '=', 'arrival')
    .where('state', 'not in', over)
    .execute()
  return rows.map(({ id }) => id)
}

export async function newestDeparture(db: Db, projectId: string): Promise<string | undefined> {
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

/** Whether the project was moved away and has not come back: its completed export is kept until then. */
export async function hasLeft(db: Db, projectId: string): Promise<boolean> {
  return (await newestDeparture(db, projectId)) !== undefined
}

export const deleteDepartures = (db: Db, projectId: string): Promise<unknown> =>
  db
    .deleteFrom('transferEnds')
    .where('projectId', '=', projectId)
    .where('side', '=', 'departure')
    .where('state', '=', 'departed')
    .execute()

/** Deletes ends that ended before that time, except exports. */
export const deleteOverSince = (db: Db, before: number): Promise<unknown> =>
  db.deleteFrom('transferEnds').where('state', 'in', ['active', 'aborted']).where('touchedAt', '<', before).execute()
