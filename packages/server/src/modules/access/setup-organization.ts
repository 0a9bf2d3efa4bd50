import { preparedQuery } from '../../platform/db/prepared.ts'
import type { Db } from '../../platform/db/schema.ts'

const key = 'setupOrganizationId'

/** The organisation made at set-up, whose owners and admins are the instance's operators. */
export const findSetupOrganization = preparedQuery<Record<never, never>, { id: string }>((db) =>
  db.selectFrom('instance').where('key', '=', key).select('value as id'),
)

export const isSetupOrganization = async (db: Db, organizationId: string): Promise<boolean> =>
  (await findSetupOrganization.first(db, {}))?.id === organizationId

/** Keeps an organisation that was recorded earlier. */
export const noteSetupOrganization = (db: Db, organizationId: string): Promise<unknown> =>
  db
    .insertInto('instance')
    .values({ key, value: organizationId })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
