import { preparedQuery } from '../../platform/db/prepared.ts'
import type { Db } from '../../platform/db/schema.ts'

const key = 'setupOrganizationId'

/** The organisation made at set-up, whose owners and admins are the instance's operators. */
export const findSetupOrganization = preparedQuery<Record<never, never>, { id: string }>((db) =>
  db.selectFrom('instance').where('key', '=', key).select('value as id'),
)

export const isSetupOrganization = async (db: Db, organizationId: string): Promise<boolean> =>
  (await findSetupOrganization.first(db, {}))?.id === organizationId

/** Records the set-up organisation. One that was recorded earlier stays. */
export const recordSetupOrganization = (db: Db, organizationId: string): Promise<unknown> =>
  db
    .insertInto('instance')
    .values({ key, value: organizationId })
    .onConflict((conflict) => conflict.doNothing())
    .execute()

/** The users who operate the instance: owners and admins of the set-up organisation. */
export const findOperators = async (db: Db): Promise<{ userId: string; organizationId: string }[]> => {
  const organization = await findSetupOrganization.first(db, {})
  if (!organization) return []
  const rows = await db
    .selectFrom('members')
    .select(['userId', 'organizationId'])
    .where('organizationId', '=', organization.id)
    .where('role', 'in', ['owner', 'admin'])
    .execute()
  return rows
}
