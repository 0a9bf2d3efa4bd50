import { type Awaitable, thenSync } from '../../platform/awaitable.ts'
import { preparedQuery } from '../../platform/db/prepared.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { CloudLinkRow } from '../../platform/db/tables/cloud.ts'

/** SQL of links to a cloud. */

export const findLink = (db: Db, organizationId: string): Promise<CloudLinkRow | undefined> =>
  db.selectFrom('cloudLinks').selectAll().where('organizationId', '=', organizationId).executeTakeFirst()

export const saveLink = ({ organizationId, ...values }: CloudLinkRow, db: Db): Promise<unknown> =>
  db
    .insertInto('cloudLinks')
    .values({ organizationId, ...values })
    .onConflict((conflict) => conflict.column('organizationId').doUpdateSet(values))
    .execute()

export const deleteLink = (db: Db, organizationId: string): Promise<unknown> =>
  db.deleteFrom('cloudLinks').where('organizationId', '=', organizationId).execute()

const anyLinkQuery = preparedQuery<Record<never, never>, { organizationId: string }>((db) =>
  db.selectFrom('cloudLinks').select('organizationId').limit(1),
)

/** Whether any organisation is linked. Returns no promise when the read cache has the row. */
export const hasLinks = (db: Db): Awaitable<boolean> => thenSync(anyLinkQuery.first(db, {}), (row) => row !== undefined)

export async function linkedOrganizations(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('cloudLinks').select('organizationId').execute()
  return rows.map(({ organizationId }) => organizationId)
}

/** Returns false when the link or its position has changed since it was read. */
export async function saveFeedPosition(
  db: Db,
  {
    organizationId,
    linkedAt,
    feedPosition: previousPosition,
  }: Pick<CloudLinkRow, 'organizationId' | 'linkedAt' | 'feedPosition'>,
  feedPosition: string,
): Promise<boolean> {
  const link = db.updateTable('cloudLinks').set({ feedPosition }).where('organizationId', '=', organizationId)
  const unchanged = link
    .where('linkedAt', '=', linkedAt)
    .where('feedPosition', previousPosition === null ? 'is' : '=', previousPosition)
  return (await unchanged.returning('organizationId').executeTakeFirst()) !== undefined
}

/** Links whose token is valid at `now` and expires by `until`. */
export const linksEnding = (db: Db, now: number, until: number): Promise<CloudLinkRow[]> =>
  db.selectFrom('cloudLinks').selectAll().where('tokenExpiresAt', '>', now).where('tokenExpiresAt', '<=', until).execute()
