import { page } from '../../platform/db/pages.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { RegistryLoginRow } from '../../platform/db/tables/registries.ts'

/** SQL of registry logins. */

export const listLoginsOf = (db: Db, organizationId: string, { limit, cursor }: { limit?: number; cursor?: string }) =>
  page(db.selectFrom('registryLogins').selectAll().where('organizationId', '=', organizationId), {
    limit: limit ?? 100,
    cursor: cursor ?? null,
    by: ['createdAt', 'id'],
    direction: 'asc',
  })

/** Logins of several organisations in one query. */
export const allLoginsOf = async (db: Db, organizationIds: readonly string[]): Promise<RegistryLoginRow[]> =>
  organizationIds.length === 0
    ? []
    : db.selectFrom('registryLogins').selectAll().where('organizationId', 'in', organizationIds).execute()

export const findLoginOf = (db: Db, organizationId: string, id: string): Promise<RegistryLoginRow | undefined> =>
  db.selectFrom('registryLogins').selectAll().where('organizationId', '=', organizationId).where('id', '=', id).executeTakeFirst()

export const findLoginAt = (db: Db, organizationId: string, host: string): Promise<RegistryLoginRow | undefined> =>
  db
    .selectFrom('registryLogins')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('host', '=', host)
    .executeTakeFirst()

/** Undefined where the organisation already has a login for that host. */
export const insertLogin = (db: Db, row: RegistryLoginRow): Promise<RegistryLoginRow | undefined> =>
  db
    .insertInto('registryLogins')
    .values(row)
    .onConflict((conflict) => conflict.columns(['organizationId', 'host']).doNothing())
    .returningAll()
    .executeTakeFirst()

export const replaceLogin = (
  db: Db,
  id: string,
  changes: Pick<RegistryLoginRow, 'username' | 'password' | 'updatedAt'>,
): Promise<RegistryLoginRow | undefined> =>
  db.updateTable('registryLogins').set(changes).where('id', '=', id).returningAll().executeTakeFirst()

export const deleteLogin = (db: Db, id: string) => db.deleteFrom('registryLogins').where('id', '=', id).execute()
