import type { Loaders } from '../../http/handler.ts'
import type { AccessDeps } from './deps.ts'
import { findMembership, findOrganization } from './store.ts'

/** How the guard finds what the access routes name. */
export const accessLoaders = ({
  database: { db },
}: AccessDeps): Pick<Loaders, 'token' | 'organization' | 'member' | 'invitation'> => ({
  token: ({ id }, { userId, organizationId }) =>
    db
      .selectFrom('tokens')
      .selectAll()
      .where('id', '=', id!)
      .where('userId', '=', userId)
      .where('organizationId', '=', organizationId)
      .executeTakeFirst(),
  // Only the active one: another of the caller's organisations is asked for with X-Organization-Id.
  organization: ({ id }, { organizationId }) => (id === organizationId ? findOrganization(db, organizationId) : undefined),
  member: ({ userId }, { organizationId }) => findMembership(db, userId!, organizationId),
  invitation: ({ id }, { organizationId }) =>
    db
      .selectFrom('invitations')
      .selectAll()
      .where('id', '=', id!)
      .where('organizationId', '=', organizationId)
      .executeTakeFirst(),
})
