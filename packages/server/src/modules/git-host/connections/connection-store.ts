import type { GitHostProvider, GitHostSource } from '@berth/contract'
import { type Insertable, sql, type Updateable } from 'kysely'
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

/** Stores a connection and returns the row; a reconnected one keeps its id. */
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

/** Organisations with an active app installation on that account; hosts compare names without case. */
export async function organizationsWith(db: Db, provider: GitHostProvider, owner: string): Promise<string[]> {
  const rows = await db
    .selectFrom('gitConnections')
    .select('organizationId')
    .distinct()
    .where('provider', '=', provider)
    .where('source', '=', 'app')
    .where('trouble', 'is', null)
    .where(sql`lower("accountLogin")`, '=', owner.toLowerCase())
    .execute()
  return rows.map(({ organizationId }) => organizationId)
}

/** How many organisations have a connection through the instance's own application. */
export async function connectedOrganizations(db: Db, provider: GitHostProvider): Promise<number> {
  const { count } = await db
    .selectFrom('gitConnections')
    .select(({ fn }) => fn.count<number>('organizationId').distinct().as('count'))
    .where('provider', '=', provider)
    .where('source', 'in', ['app', 'oauth'])
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Deletes the connections of every organisation that were made with the instance's application. */
export const deleteConnectionsOf = (db: Db, provider: GitHostProvider): Promise<GitConnectionRow[]> =>
  db
    .deleteFrom('gitConnections')
    .where('provider', '=', provider)
    .where('source', 'in', ['app', 'oauth'])
    .returningAll()
    .execute()

/** Deletes an installation in every organisation. */
export const deleteInstallation = (db: Db, provider: GitHostProvider, installationId: number): Promise<GitConnectionRow[]> =>
  db
    .deleteFrom('gitConnections')
    .where('provider', '=', provider)
    .where('source', '=', 'app')
    .where('externalId', '=', String(installationId))
    .returningAll()
    .execute()

export const setInstallationError = (
  db: Db,
  provider: GitHostProvider,
  installationId: number,
  problem: string | null,
  now: number,
): Promise<GitConnectionRow[]> =>
  db
    .updateTable('gitConnections')
    .set({ trouble: problem, updatedAt: now })
    .where('provider', '=', provider)
    .where('source', '=', 'app')
    .where('externalId', '=', String(installationId))
    .where('trouble', problem === null ? 'is not' : 'is', null)
    .returningAll()
    .execute()

/** Claims the refresh. Returns undefined when another control plane is refreshing or has done so. */
export const claimRefresh = (
  db: Db,
  id: string,
  credential: string | null,
  now: number,
  until: number,
): Promise<GitConnectionRow | undefined> =>
  db
    .updateTable('gitConnections')
    .set({ refreshingUntil: until })
    .where('id', '=', id)
    .where('credential', '=', credential)
    .where(({ or, eb }) => or([eb('refreshingUntil', 'is', null), eb('refreshingUntil', '<', now)]))
    .returningAll()
    .executeTakeFirst()

/** Returns false when the connection was replaced or removed meanwhile. */
export async function putRefreshed(db: Db, row: GitConnectionRow, changes: Updateable<GitConnectionsTable>): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('gitConnections')
    .set({ ...changes, refreshingUntil: null })
    .where('id', '=', row.id)
    .where('credential', '=', row.credential)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Returns false when the connection already had an error. */
export async function setConnectionError(db: Db, row: GitConnectionRow, problem: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('gitConnections')
    .set({ trouble: problem, updatedAt: now })
    .where('id', '=', row.id)
    // A reconnected row has another login: leave it.
    .where('updatedAt', '=', row.updatedAt)
    .where('trouble', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export const findAccountConnection = (
  db: Db,
  organizationId: string,
  provider: GitHostProvider,
): Promise<GitConnectionRow | undefined> =>
  db
    .selectFrom('gitConnections')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('provider', '=', provider)
    .where('source', '=', 'oauth')
    .executeTakeFirst()
