import type { Insertable, Updateable } from 'kysely'
import { page } from '../../platform/db/pages.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { ServerRow, ServersTable } from '../../platform/db/tables/servers.ts'

/** SQL of servers. */

export const findServer = (db: Db, id: string): Promise<ServerRow | undefined> =>
  db.selectFrom('servers').selectAll().where('id', '=', id).executeTakeFirst()

export const findServerOf = (db: Db, organizationId: string, id: string): Promise<ServerRow | undefined> =>
  db.selectFrom('servers').selectAll().where('organizationId', '=', organizationId).where('id', '=', id).executeTakeFirst()

export const listServersOf = (db: Db, organizationId: string, { limit, cursor }: { limit?: number; cursor?: string }) =>
  page(db.selectFrom('servers').selectAll().where('organizationId', '=', organizationId), {
    limit: limit ?? 100,
    cursor: cursor ?? null,
    by: ['createdAt', 'id'],
    direction: 'asc',
  })

export const listAllServers = (db: Db): Promise<Pick<ServerRow, 'id' | 'name' | 'organizationId' | 'authentication'>[]> =>
  db.selectFrom('servers').select(['id', 'name', 'organizationId', 'authentication']).execute()

export const insertServer = (db: Db, row: Insertable<ServersTable>) => db.insertInto('servers').values(row).execute()

export const updateServer = (db: Db, id: string, changes: Updateable<ServersTable>): Promise<ServerRow | undefined> =>
  db.updateTable('servers').set(changes).where('id', '=', id).returningAll().executeTakeFirst()

/** Undefined when host, port or user is no longer the one that the changes were checked for. */
export const updateServerAt = (
  db: Db,
  { id, host, port, user }: Pick<ServerRow, 'id' | 'host' | 'port' | 'user'>,
  changes: Updateable<ServersTable>,
): Promise<ServerRow | undefined> =>
  db
    .updateTable('servers')
    .set(changes)
    .where('id', '=', id)
    .where('host', '=', host)
    .where('port', '=', port)
    .where('user', '=', user)
    .returningAll()
    .executeTakeFirst()

export const deleteServer = (db: Db, id: string) => db.deleteFrom('servers').where('id', '=', id).execute()

/**
 * Pins the host key of a server that has none yet and is still at this host. Returns the key that is pinned now, by this or
 * another process; null when the server has another host.
 */
export async function pinHostKey(
  db: Db,
  { id, host, port }: Pick<ServerRow, 'id' | 'host' | 'port'>,
  key: { fingerprint: string; type: string },
): Promise<string | null> {
  await db
    .updateTable('servers')
    .set({ hostKey: key.fingerprint, hostKeyType: key.type })
    .where('id', '=', id)
    .where('host', '=', host)
    .where('port', '=', port)
    .where('hostKey', 'is', null)
    .execute()
  const row = await db
    .selectFrom('servers')
    .select('hostKey')
    .where('id', '=', id)
    .where('host', '=', host)
    .where('port', '=', port)
    .executeTakeFirst()
  return row?.hostKey ?? null
}
