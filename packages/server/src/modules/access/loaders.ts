import type { Loaders } from '../../http/handler.ts'
import type { AccessDeps } from './deps.ts'
import { findMembership, findOrganization } from './store.ts'

/** Loaders of the objects in access routes. */
export const accessLoaders = ({
  database: { db },
}: AccessDeps): Pick<Loaders, 'token' | 'session' | 'passkey' | 'organization' | 'member' | 'invitation'> => ({
  token: ({ id }, { userId, organizationId }) =>
    db
      .selectFrom('tokens')
      .selectAll()
      .where('id', '=', id!)
      .where('userId', '=', userId)
      .where('organizationId', '=', organizationId)
      .executeTakeFirst(),
  session: ({ id }, { userId }) =>
    db.selectFrom('sessions').selectAll().where('id', '=', id!).where('userId', '=', userId).executeTakeFirst(),
  passkey: ({ id }, { userId }) =>
    db.selectFrom('passkeys').selectAll().where('id', '=', id!).where('userId', '=', userId).executeTakeFirst(),
  // Only the active organisation: another one is selected with X-Organization-Id.
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
