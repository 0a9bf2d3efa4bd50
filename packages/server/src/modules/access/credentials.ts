import { hasPermission, type Level, type Permission, type Role } from '@berth/contract'
import type { FastifyRequest } from 'fastify'
import type { Authenticator } from '../../http/guard.ts'
import type { Caller } from '../../http/handler.ts'
import { isCrossOrigin } from '../../http/origin.ts'
import { type Awaitable, thenSync } from '../../platform/awaitable.ts'
import { iso, isoOrNull } from '../../platform/db/columns.ts'
import { tokenJson } from '../../platform/db/json-columns/access.ts'
import { memoizeByRows } from '../../platform/db/memoize-rows.ts'
import { preparedQuery } from '../../platform/db/prepared.ts'
import type { Db } from '../../platform/db/schema.ts'
import { fail } from '../../platform/failure.ts'
import { hashToken } from '../../platform/secrets/token.ts'
import type { AccessDeps } from './deps.ts'
import { sessionCookie } from './session-cookie.ts'
import { findSetupOrganization } from './setup-organization.ts'

/**
 * Authenticates requests. Cached results do not outlive a write: a revoked token or a changed role takes effect with the next
 * call.
 */
export function createAuthenticator({ database, clock, log }: AccessDeps): Authenticator {
  const { db } = database
  const recordUse = createUseRecorder(db, log)
  return {
    authenticate(request) {
      const now = clock.now().getTime()
      const { authorization, 'x-organization-id': requestedId } = request.headers
      return thenSync(authorization ? byToken(db, authorization, now) : bySession(db, request, now), (caller) => {
        if (caller) recordUse(caller, now)
        if (caller && requestedId && requestedId !== caller.organizationId)
          fail('forbidden', { message: 'You are not a member of the organisation in X-Organization-Id' })
        return caller
      })
    },
    renew: (caller) => callerNow(db, caller, clock.now().getTime()),
    isOperator: (caller) => isOperator(db, caller),
    grantedLevel(caller, projectId) {
      if (caller.role === 'owner') return undefined
      return thenSync(findGrant.first(db, { projectId, userId: caller.userId }), (grant) => grant?.level)
    },
    async highestGrant(caller) {
      const grants = await findGrants.all(db, { userId: caller.userId, organizationId: caller.organizationId })
      const has = (level: Level) => grants.some((grant) => grant.level === level)
      return has('admin') ? 'admin' : has('write') ? 'write' : grants.length > 0 ? 'read' : undefined
    },
  }
}

/**
 * Re-evaluates a caller who authenticated earlier, with the current credential and membership. Null if one of them no longer
 * exists, and while the organisation requires a second factor that the user lacks.
 */
export async function renewed(db: Db, credential: Credential, now: number): Promise<Caller | null> {
  const caller = await callerNow(db, credential, now)
  return caller?.needsSecondFactor ? null : caller
}

/** The caller of a credential that is known by id. */
export async function callerNow(
  db: Db,
  { userId, organizationId, tokenId, sessionId }: Credential,
  now: number,
): Promise<Caller | null> {
  if (tokenId) {
    const found = await findTokenById.first(db, { id: tokenId })
    return found && isUnexpired(found, now) ? callerOfToken(found) : null
  }
  const session = sessionId ? await findSessionById.first(db, { id: sessionId }) : undefined
  if (!session || session.expiresAt <= now) return null
  const member = await findMember.first(db, { userId, organizationId })
  return member ? callerOfSession(session, member) : null
}

/** The credential of a caller: either `tokenId` or `sessionId` is set. */
export type Credential = Pick<Caller, 'userId' | 'organizationId' | 'tokenId' | 'sessionId'>

/** Whether the permission is still held: by the token as it is now, or else by the user's role. */
export async function holdsNow(
  db: Db,
  tag: Permission,
  credential: Omit<Credential, 'sessionId'>,
  now: number,
): Promise<boolean> {
  if (credential.tokenId) {
    const caller = await renewed(db, { ...credential, sessionId: null }, now)
    return caller !== null && hasPermission(caller, tag)
  }
  const role = await roleOf(db, credential.userId, credential.organizationId)
  return role !== undefined && hasPermission({ role, scopes: null }, tag)
}

/** The user's current role in an organisation; none while the organisation requires a second factor that the user lacks. */
export async function roleOf(db: Db, userId: string, organizationId: string): Promise<Role | undefined> {
  const member = await findMember.first(db, { userId, organizationId })
  return member && !needsSecondFactor(member) ? member.role : undefined
}

/**
 * Whether the caller is an operator. An operator's session counts in every organisation; a token counts only in the set-up
 * organisation, and not if it is limited to projects.
 */
export function isOperator(db: Db, { userId, organizationId, tokenId, projectIds }: Caller): Awaitable<boolean> {
  return thenSync(findSetupOrganization.first(db, {}), (setUp) => {
    if (!setUp || projectIds || (tokenId && organizationId !== setUp.id)) return false
    return thenSync(
      findMember.first(db, { userId, organizationId: setUp.id }),
      (member) => (member?.role === 'owner' || member?.role === 'admin') && !needsSecondFactor(member),
    )
  })
}

const credentialDefaults = {
  via: 'session' as const,
  sessionId: null,
  tokenId: null,
  scopes: null,
  projectIds: null,
  expiresAt: null,
}

function byToken(db: Db, authorization: string, now: number): Awaitable<Caller | null> {
  const [scheme, value] = authorization.split(' ')
  if (scheme?.toLowerCase() !== 'bearer' || !value?.startsWith('brt_')) return null
  return thenSync(findToken.first(db, { secretHash: hashToken(value) }), (found) =>
    found && isUnexpired(found, now) ? callerOfToken(found) : null,
  )
}

const isUnexpired = ({ expiresAt }: FoundToken, now: number): boolean => expiresAt === null || expiresAt > now

const needsSecondFactor = ({ requireTwoFactor, confirmedAt }: Pick<Membership, 'requireTwoFactor' | 'confirmedAt'>): boolean =>
  requireTwoFactor === 1 && confirmedAt === null

const callerOfToken = memoizeByRows(
  (found: FoundToken): Caller => ({
    ...credentialDefaults,
    userId: found.userId,
    email: found.email,
    organizationId: found.organizationId,
    role: found.role,
    via: 'token',
    tokenId: found.id,
    scopes: setOf(tokenJson.scopes(found)),
    projectIds: setOf(tokenJson.projectIds(found)),
    needsSecondFactor: needsSecondFactor(found),
    expiresAt: isoOrNull(found.expiresAt),
  }),
)

function bySession(db: Db, request: FastifyRequest, now: number): Awaitable<Caller | null> {
  const value = sessionCookie.read(request.headers.cookie, request.clientProtocol === 'https')
  if (!value) return null
  return thenSync(findSession.first(db, { secretHash: hashToken(value) }), (session) => {
    if (!session || session.expiresAt <= now) return null
    checkOrigin(request)
    const requestedId = request.headers['x-organization-id'] as string | undefined
    return thenSync(membershipOf(db, session, requestedId), (member) => {
      if (member) return callerOfSession(session, member)
      return requestedId ? fail('forbidden', { message: 'You are not a member of the organisation in X-Organization-Id' }) : null
    })
  })
}

/** The membership in the requested organisation; else in the user's default one, or the first one they joined. */
function membershipOf(db: Db, session: FoundSession, requestedId: string | undefined): Awaitable<Membership | undefined> {
  const { userId, defaultOrganizationId } = session
  const organizationId = requestedId ?? defaultOrganizationId
  if (!organizationId) return firstOf(db, userId)
  return thenSync(
    findMember.first(db, { userId, organizationId }),
    (member) => member ?? (requestedId ? undefined : firstOf(db, userId)),
  )
}

const callerOfSession = memoizeByRows(
  (session: FoundSession, membership: Membership): Caller => ({
    ...credentialDefaults,
    email: membership.email,
    organizationId: membership.organizationId,
    role: membership.role,
    needsSecondFactor: needsSecondFactor(membership),
    userId: session.userId,
    sessionId: session.id,
    expiresAt: iso(session.expiresAt),
  }),
)

const firstOf = (db: Db, userId: string) => findFirstMembership.first(db, { userId })

/** CSRF check: a browser sends the cookie with every request, including one that another site started. */
function checkOrigin(request: FastifyRequest): void {
  if (request.method === 'GET' || request.method === 'HEAD') return
  if (request.headers.origin === undefined || isCrossOrigin(request))
    fail('forbidden', { message: 'A state-changing call with a session cookie needs a matching Origin header' })
}

const setOf = (values: readonly string[] | null): ReadonlySet<string> | null => values && new Set(values)

/** Records `lastUsedAt` at most once a minute per token or session, without delaying requests. */
function createUseRecorder(db: Db, log: AccessDeps['log']) {
  const recordedAt = new Map<string, number>()
  return ({ tokenId, sessionId }: Caller, now: number) => {
    const id = (tokenId ?? sessionId) as string
    if (now - (recordedAt.get(id) ?? 0) < 60_000) return
    if (recordedAt.size > 10_000) recordedAt.clear()
    recordedAt.set(id, now)
    db.updateTable(tokenId ? 'tokens' : 'sessions')
      .set({ lastUsedAt: now })
      .where('id', '=', id)
      .execute()
      .catch((error: unknown) => log.warn({ err: error }, 'access: lastUsedAt of a token or session not updated'))
  }
}

type FoundSession = NonNullable<Awaited<ReturnType<typeof findSession.first>>>
type FoundToken = NonNullable<Awaited<ReturnType<typeof findToken.first>>>

interface Membership {
  organizationId: string
  email: string
  role: Role
  requireTwoFactor: 0 | 1
  /** The time at which two-factor authentication was turned on; null: it is off. */
  confirmedAt: number | null
}

const tokens = (db: Db) =>
  db
    .selectFrom('tokens')
    .innerJoin('users', 'users.id', 'tokens.userId')
    .innerJoin('members', (join) =>
      join.onRef('members.userId', '=', 'tokens.userId').onRef('members.organizationId', '=', 'tokens.organizationId'),
    )
    .innerJoin('organizations', 'organizations.id', 'tokens.organizationId')
    .leftJoin('totpFactors', 'totpFactors.userId', 'tokens.userId')
    .select([
      'tokens.id',
      'tokens.userId',
      'tokens.organizationId',
      'tokens.scopes',
      'tokens.projectIds',
      'tokens.expiresAt',
      'users.email',
      'members.role',
      'organizations.requireTwoFactor',
      'totpFactors.confirmedAt',
    ])

const findToken = preparedQuery((db, { secretHash }: { secretHash: string }) =>
  tokens(db).where('tokens.secretHash', '=', secretHash),
)
const findTokenById = preparedQuery((db, { id }: { id: string }) => tokens(db).where('tokens.id', '=', id))

const sessions = (db: Db) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.userId')
    .select(['sessions.id', 'sessions.userId', 'sessions.expiresAt', 'users.defaultOrganizationId'])

const findSession = preparedQuery((db, { secretHash }: { secretHash: string }) =>
  sessions(db).where('sessions.secretHash', '=', secretHash),
)
const findSessionById = preparedQuery((db, { id }: { id: string }) => sessions(db).where('sessions.id', '=', id))

const memberships = (db: Db) =>
  db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.userId')
    .innerJoin('organizations', 'organizations.id', 'members.organizationId')
    .leftJoin('totpFactors', 'totpFactors.userId', 'members.userId')
    .select([
      'members.organizationId',
      'users.email',
      'members.role',
      'organizations.requireTwoFactor',
      'totpFactors.confirmedAt',
    ])

const findMember = preparedQuery<{ userId: string; organizationId: string }, Membership>((db, { userId, organizationId }) =>
  memberships(db).where('members.userId', '=', userId).where('members.organizationId', '=', organizationId),
)

const findFirstMembership = preparedQuery<{ userId: string }, Membership>((db, { userId }) =>
  memberships(db).where('members.userId', '=', userId).orderBy('members.joinedAt').limit(1),
)

const findGrant = preparedQuery((db, { projectId, userId }: { projectId: string; userId: string }) =>
  db.selectFrom('grants').where('projectId', '=', projectId).where('userId', '=', userId).select('level'),
)

const findGrants = preparedQuery((db, { userId, organizationId }: { userId: string; organizationId: string }) =>
  db.selectFrom('grants').where('userId', '=', userId).where('organizationId', '=', organizationId).select('level'),
)
