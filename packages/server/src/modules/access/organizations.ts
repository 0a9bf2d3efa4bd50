import type { OrganizationRow } from '../../platform/db/tables/access.ts'
import { isForeignKeyViolation } from '../../platform/db/violations.ts'
import { fail } from '../../platform/failure.ts'
import type { AccessDeps } from './deps.ts'
import { findSetupOrganization } from './setup-organization.ts'

/** Deletes an organisation. Members who had it as default get the first other one they joined. */
export async function deleteOrganization({ id }: OrganizationRow, { database }: AccessDeps): Promise<void> {
  if ((await findSetupOrganization.first(database.db, {}))?.id === id)
    fail('conflict', { message: 'This organisation operates the instance and cannot be deleted' })
  try {
    await database.transaction(async ({ db }) => {
      // First, so that a concurrent join either commits before this or fails.
      await db.deleteFrom('organizations').where('id', '=', id).execute()
      await db.updateTable('users').set({ defaultOrganizationId: null }).where('defaultOrganizationId', '=', id).execute()
    })
  } catch (error) {
    if (isForeignKeyViolation(error)) fail('conflict', { message: 'The organisation still has projects. Delete them first.' })
    throw error
  }
}
