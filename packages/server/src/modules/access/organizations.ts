import type { BodyOf, contract } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import type { OrganizationRow } from '../../platform/db/tables/access.ts'
import { isForeignKeyViolation } from '../../platform/db/violations.ts'
import { fail } from '../../platform/failure.ts'
import type { AccessDeps } from './deps.ts'
import { hasTotp } from './second-factor.ts'
import { findSetupOrganization } from './setup-organization.ts'

export async function updateOrganization(
  organization: OrganizationRow,
  { name, memberRepositories, requireTwoFactor }: BodyOf<typeof contract.access.updateOrganization>,
  { userId }: Caller,
  { database }: AccessDeps,
): Promise<OrganizationRow> {
  const changes = {
    ...(name === undefined ? {} : { name: name.trim() }),
    ...(memberRepositories === undefined ? {} : { memberRepositories: memberRepositories && JSON.stringify(memberRepositories) }),
    ...(requireTwoFactor === undefined ? {} : { requireTwoFactor: requireTwoFactor ? (1 as const) : (0 as const) }),
  }
  if (Object.keys(changes).length === 0) return organization
  if (requireTwoFactor && !(await hasTotp(database.db, userId)))
    fail('conflict', { field: 'requireTwoFactor', message: 'Turn on two-factor authentication for your own account first.' })
  await database.db.updateTable('organizations').set(changes).where('id', '=', organization.id).execute()
  return { ...organization, ...changes }
}

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
