import type { Permission } from '@berth/contract'
import type { Db } from '../../platform/db/schema.ts'
import { createAuditLog } from './audit-log.ts'
import { type Credential, createGatekeeper, holdsNow, roleOf } from './credentials.ts'
import type { AccessDeps } from './deps.ts'
import { createAdmin, createReadiness, prepareFirstStart } from './first-start.ts'
import { grantsOf, placeGrants, type TravellingGrant } from './grants.ts'
import { accessHandlers } from './handlers.ts'
import { invitationMailJob } from './invitation-mail.ts'
import { accessLoaders } from './loaders.ts'
import { tooManyPeople } from './one-person.ts'
import { isSetupOrganization } from './setup-organization.ts'
import { signUpMailJob } from './sign-up-mail.ts'
import { findOrganization, memberRepositories } from './store.ts'
import { createStreamTokens, type StreamTokens } from './stream-tokens.ts'
import { expiringTokens } from './tokens.ts'

export { deleteGrants } from './grants.ts'
export { randomCode } from './random-code.ts'
export { isSetupOrganization } from './setup-organization.ts'
export { findOrganizationName, membersOf, organizationNames, quotaOverride } from './store.ts'
export type { StreamTokens, TravellingGrant }

/**
 * Who may do what. A *user* belongs to *organisations* as a *member* with a *role*, which is a set of tags; a *grant*
 * changes one person's *level* on one project; a *session* or a *token* says who is asking, and the *audit log* keeps
 * what they changed.
 */
export function createAccess(deps: AccessDeps) {
  return {
    handlers: accessHandlers(deps),
    loaders: accessLoaders(deps),
    jobs: [signUpMailJob(deps), invitationMailJob(deps)],
    gatekeeper: createGatekeeper(deps),
    auditLog: createAuditLog(deps),
    streamTokens: createStreamTokens(deps),
    /** What a person is in an organisation now; undefined when they have left it. */
    roleOf: (userId: string, organizationId: string) => roleOf(deps.database.db, userId, organizationId),
    /** Whether a credential that was good a while ago still has the tag. */
    holdsNow: (tag: Permission, credential: Omit<Credential, 'sessionId'>) =>
      holdsNow(deps.database.db, tag, credential, deps.clock.now().getTime()),
    /** Grants of a project that moves. */
    grants: {
      of: (db: Db, projectId: string) => grantsOf(db, projectId),
      place: (project: Parameters<typeof placeGrants>[0], grants: readonly TravellingGrant[], db: Db) =>
        placeGrants(project, grants, db, deps),
    },
    /** The organisation made at set-up, whose owners and admins run the instance. */
    isOperatorsOrganization: (organizationId: string) => isSetupOrganization(deps.database.db, organizationId),
    /** `owner/*` and `owner/repo` that members may see; null: every one. */
    memberRepositories: (organizationId: string) => memberRepositories(deps.database.db, organizationId),
    nameOf: async (organizationId: string) => (await findOrganization(deps.database.db, organizationId))?.name,
    prepareFirstStart: (settings: Parameters<typeof prepareFirstStart>[0]) => prepareFirstStart(settings, deps),
    /** Whether the first owner can sign in. */
    isReady: createReadiness(deps),
    expiringTokens: (now: Date, until: Date) => expiringTokens(now, until, deps),
    tooManyPeople: () => tooManyPeople(deps.database.db),
    createAdmin: (admin: Parameters<typeof createAdmin>[0]) => createAdmin(admin, deps),
  }
}
