import type { GitHostProvider, GitHostSource } from '@berth/contract'
import type { Insertable, Updateable } from 'kysely'
import type { Db } from '../../../platform/db/schema.ts'
import type { GitConnectionRow, GitConnectionsTable } from '../../../platform/db/tables/git-host.ts'

export const listConnections = (db: Db, organizationId: string): Promise<GitConnectionRow[]> =>
  db
    .selectFrom('gitConnections')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .orderBy('createdAt')
    .orderBy('id')
    .execute()

export const findConnection = (db: Db, id: string): Promise<GitConnectionRow | undefined> =>
  db.selectFrom('gitConnections').selectAll().where('id', '=', id).executeTakeFirst()

/** The row that stands afterwards: connected again, it keeps its id. */
export async function putConnection(db: Db, row: Insertable<GitConnectionsTable>): Promise<GitConnectionRow> {
  const { id: _, createdAt: __, ...changed } = row
  return db
    .insertInto('gitConnections')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['organizationId', 'provider', 'source', 'externalId']).doUpdateSet({ ...changed, refreshingUntil: null }),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
}

export const changeConnection = (db: Db, id: string, changes: Updateable<GitConnectionsTable>) =>
  db.updateTable('gitConnections').set(changes).where('id', '=', id).execute()

export const deleteConnections = (
  db: Db,
  organizationId: string,
  sources: readonly GitHostSource[],
  provider: GitHostProvider | null,
): Promise<GitConnectionRow[]> => {
  const query = db
    .deleteFrom('gitConnections')
    .where('organizationId', '=', organizationId)
    .where('source', 'in', sources)
    .returningAll()
  return (provider ? query.where('provider', '=', provider) : query).execute()
}

/** Of every organisation. */
export const deleteInstallation = (db: Db, provider: GitHostProvider, installationId: number): Promise<GitConnectionRow[]> =>
  db
    .deleteFrom('gitConnections')
    .where('provider', '=', provider)
    .where('source', '=', 'app')
    .where('externalId', '=', String(installationId))
    .returningAll()
    .execute()

export const setInstallationTrouble = (
  db: Db,
  provider: GitHostProvider,
  installationId: number,
  trouble: string | null,
  now: number,
): Promise<GitConnectionRow[]> =>
  db
    .updateTable('gitConnections')
    .set({ trouble, updatedAt: now })
    .where('provider', '=', provider)
    .where('source', '=', 'app')
    .where('externalId', '=', String(installationId))
    .where('trouble', trouble === null ? 'is not' : 'is', null)
    .returningAll()
    .execute()
