import type { Insertable, Updateable } from 'kysely'
import type { Db } from '../../platform/db/schema.ts'
import type { InstanceRow, InstancesTable } from '../../platform/db/tables/deployments.ts'

/** SQL of instances. */

export const insertInstance = (db: Db, row: Insertable<InstancesTable>) => db.insertInto('instances').values(row).execute()
export const updateInstance = (db: Db, id: string, changes: Updateable<InstancesTable>) =>
  db.updateTable('instances').set(changes).where('id', '=', id).execute()
/** Positions by instance, saved in one statement. */
export const saveLogPositions = async (db: Db, positions: ReadonlyMap<string, string>): Promise<void> => {
  const rows = [...positions]
  for (let at = 0; at < rows.length; at += maxPositionsPerStatement) {
    const [[firstId, first], ...others] = rows.slice(at, at + maxPositionsPerStatement) as [
      [string, string],
      ...[string, string][],
    ]
    const ids = [firstId, ...others.map(([id]) => id)]
    const update = db.updateTable('instances').where('id', 'in', ids)
    await update
      .set(({ eb }) => {
        let cases = eb.case('id').when(firstId).then(first)
        for (const [id, position] of others) cases = cases.when(id).then(position)
        return { logPosition: cases.end() }
      })
      .execute()
  }
}
const maxPositionsPerStatement = 100
/** Returns false when the instance was stopped meanwhile. */
export const markStarted = async (db: Db, id: string, changes: Updateable<InstancesTable>): Promise<boolean> => {
  const update = db.updateTable('instances').set(changes).where('id', '=', id).where('state', '!=', 'retired')
  return (await update.returning('id').execute()).length > 0
}
export const deleteInstance = (db: Db, id: string) => db.deleteFrom('instances').where('id', '=', id).execute()
export const findInstance = (db: Db, id: string): Promise<InstanceRow | undefined> =>
  db.selectFrom('instances').selectAll().where('id', '=', id).executeTakeFirst()
export const listInstances = (
  db: Db,
  filter: Partial<Pick<InstanceRow, 'deploymentId' | 'projectId' | 'environment' | 'state'>> = {},
): Promise<InstanceRow[]> => {
  let query = db.selectFrom('instances').selectAll()
  for (const [column, value] of Object.entries(filter)) query = query.where(column as 'state', '=', value as never)
  return query.execute()
}
