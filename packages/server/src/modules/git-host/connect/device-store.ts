import type { GitHostProvider } from '@berth/contract'
import type { Db } from '../../../platform/db/schema.ts'
import type { GitDeviceLoginRow } from '../../../platform/db/tables/git-host.ts'

export const findDeviceLogin = (
  db: Db,
  organizationId: string,
  userId: string,
  provider: GitHostProvider,
): Promise<GitDeviceLoginRow | undefined> =>
  db
    .selectFrom('gitDeviceLogins')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('userId', '=', userId)
    .where('provider', '=', provider)
    .executeTakeFirst()

/** Stores a device login: one per user, organisation and host. A newer one replaces it. */
export async function putDeviceLogin(db: Db, row: GitDeviceLoginRow): Promise<void> {
  await db
    .insertInto('gitDeviceLogins')
    .values(row)
    .onConflict((conflict) => conflict.columns(['organizationId', 'userId', 'provider']).doUpdateSet(row))
    .execute()
}

/** Returns false when the poll interval has not passed, or another request polls at this moment. */
export async function claimPoll(db: Db, { id, intervalSeconds }: GitDeviceLoginRow, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('gitDeviceLogins')
    .set({ nextPollAt: now + intervalSeconds * 1000 })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .where('nextPollAt', '<=', now)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export const setPollInterval = (db: Db, id: string, intervalSeconds: number) =>
  db.updateTable('gitDeviceLogins').set({ intervalSeconds }).where('id', '=', id).execute()

export const endDeviceLogin = (db: Db, id: string, status: 'denied' | 'expired' | 'error', message: string | null) =>
  db.updateTable('gitDeviceLogins').set({ status, message }).where('id', '=', id).execute()

export const deleteDeviceLogin = (db: Db, id: string) => db.deleteFrom('gitDeviceLogins').where('id', '=', id).execute()

export const deleteDeviceLogins = (db: Db, organizationId: string, provider: GitHostProvider | null) => {
  const query = db.deleteFrom('gitDeviceLogins').where('organizationId', '=', organizationId)
  return (provider ? query.where('provider', '=', provider) : query).execute()
}

/** Deletes the pending logins of every organisation at a host. */
export const deleteAllDeviceLogins = (db: Db, provider: GitHostProvider) =>
  db.deleteFrom('gitDeviceLogins').where('provider', '=', provider).execute()
