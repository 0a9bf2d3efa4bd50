import type { Permission } from '@berth/contract'
import type { Db } from '../../platform/db/schema.ts'
import { createAuditLog } from './audit-log.ts'
import { type Credential, createAuthenticator, holdsNow, roleOf } from './credentials.ts'
import type { AccessDeps } from './deps.ts'
import { createAdmin, createReadiness, createSetUpCheck, prepareFirstStart } from './first-start.ts'
import { grantsOf, replaceGrants, type TransferredGrant } from './grants.ts'
import { accessHandlers } from './handlers.ts'
import { invitationMailJob } from './invitation-mail.ts'
import { accessLoaders } from './loaders.ts'
import { passwordResetMailJob, resetAccount } from './password-reset.ts'
import { findOperators, isSetupOrganization } from './setup-organization.ts'
import { signUpMailJob } from './sign-up-mail.ts'
import { tooManyUsers } from './single-user.ts'
import { findOrganization, memberRepositories } from './store.ts'
import { createStreamTokens, type StreamTokens } from './stream-tokens.ts'
import { expiringTokens } from './tokens.ts'

export { deleteGrants } from './grants.ts'
export { randomCode } from './random-code.ts'
export { isSetupOrganization } from './setup-organization.ts'
export { findOrganizationName, membersOf, organizationNames, quotaOverride } from './store.ts'
export type { StreamTokens, TransferredGrant }

/**
 * Access control. A *user* is a *member* of *organisations* with a *role*, which is a set of permissions; a *grant* changes a
 * member's *level* on one project; a *session* or a *token* authenticates a request, and the *audit log* records changes.
 */
export function createAccess(deps: AccessDeps) {
  return {
    handlers: accessHandlers(deps),
    loaders: accessLoaders(deps),
    jobs: [signUpMailJob(deps), invitationMailJob(deps), passwordResetMailJob(deps)],
    authenticator: createAuthenticator(deps),
    auditLog: createAuditLog(deps),
    streamTokens: createStreamTokens(deps),
    /** The user's current role in an organisation; undefined when they are no longer a member. */
    roleOf: (userId: string, organizationId: string) => roleOf(deps.database.db, userId, organizationId),
    /** Whether an earlier credential still has the permission. */
    holdsNow: (tag: Permission, credential: Omit<Credential, 'sessionId'>) =>
      holdsNow(deps.database.db, tag, credential, deps.clock.now().getTime()),
    /** Grants of a project that moves to another instance. */
    grants: {
      of: (db: Db, projectId: string) => grantsOf(db, projectId),
      replace: (project: Parameters<typeof replaceGrants>[0], grants: readonly TransferredGrant[], db: Db) =>
        replaceGrants(project, grants, db, deps),
    },
    /** Whether this is the set-up organisation, whose owners and admins operate the instance. */
    isOperatorsOrganization: (organizationId: string) => isSetupOrganization(deps.database.db, organizationId),
    operators: () => findOperators(deps.database.db),
    /** Patterns (`owner/*`, `owner/repo`) of repositories that members may see; null: all. */
    memberRepositories: (organizationId: string) => memberRepositories(deps.database.db, organizationId),
    nameOf: async (organizationId: string) => (await findOrganization(deps.database.db, organizationId))?.name,
    prepareFirstStart: (settings: Parameters<typeof prepareFirstStart>[0]) => prepareFirstStart(settings, deps),
    /** Whether a user can sign in or set the instance up. */
    isReady: createReadiness(deps),
    /** Whether the first owner exists. */
    isSetUp: createSetUpCheck(deps),
    expiringTokens: (now: Date, until: Date) => expiringTokens(now, until, deps),
    tooManyUsers: () => tooManyUsers(deps.database.db),
    resetAccount: (reset: Parameters<typeof resetAccount>[0]) => resetAccount(reset, deps),
    createAdmin: (admin: Parameters<typeof createAdmin>[0]) => createAdmin(admin, deps),
  }
}
