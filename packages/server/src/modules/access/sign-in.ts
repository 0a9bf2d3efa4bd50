import { hasPermission, type Permission, permissions, type Session } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import { type Awaitable, allSync, thenSync } from '../../platform/awaitable.ts'
import { iso } from '../../platform/db/columns.ts'
import { newId } from '../../platform/db/ids.ts'
import { memoizeByRows } from '../../platform/db/memoize-rows.ts'
import { preparedQuery } from '../../platform/db/prepared.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { MemberRow, OrganizationRow, UserRow } from '../../platform/db/tables/access.ts'
import { describeWrite } from '../../platform/db/write-record.ts'
import { fail } from '../../platform/failure.ts'
import { hashPassword, needsRehash, verifyPassword } from '../../platform/secrets/password.ts'
import { hashToken } from '../../platform/secrets/token.ts'
import { callerNow, isOperator } from './credentials.ts'
import type { AccessDeps } from './deps.ts'
import { provePassword } from './prove-password.ts'
import { randomCode } from './random-code.ts'
import { withSecondFactor } from './second-factor.ts'
import { sessionSeconds } from './session-cookie.ts'
import type { SessionClient } from './sessions.ts'
import { findMembership, findUser, findUserByEmail, lockUser, showOrganization, showUser } from './store.ts'

interface SignIn {
  email: string
  password: string
  /** The second factor. */
  code?: string
  device: string | null
  client: SessionClient
}

/** Signs in. An unknown address takes the same time and gets the same response as a wrong password. */
export async function signIn(attempt: SignIn, deps: AccessDeps) {
  const { email, code, device, client } = attempt
  const user = await provePassword(attempt, await findUserByEmail(deps.database.db, email), deps)
  return withSecondFactor({ email, device, code, userId: user.id }, deps, async (spend) => {
    const passwordHash = needsRehash(user.passwordHash) ? await hashPassword(attempt.password) : null
    return deps.database.transaction(async ({ db }) => {
      const secondFactor = await spend(db)
      if (secondFactor !== 'none') describeWrite({ changes: { email, secondFactor } })
      await checkPasswordAgain(db, user, attempt.password)
      if (passwordHash) await db.updateTable('users').set({ passwordHash }).where('id', '=', user.id).execute()
      return openSession(db, user.id, client, deps)
    })
  })
}

/**
 * The password may have been changed since it was checked, and the change ends only the sessions that exist then. With the user's row
 * locked, a change commits before or after this transaction.
 */
async function checkPasswordAgain(db: Db, user: UserRow, password: string): Promise<void> {
  const current = await lockUser(db, user.id)
  // Another sign-in may have hashed the same password again.
  const isUnchanged =
    current?.passwordHash === user.passwordHash || (await verifyPassword(password, current?.passwordHash ?? null))
  if (!isUnchanged) fail('unauthorized', { message: 'Wrong e-mail address or password' })
}

/** Opens a session for a user who is a member of an organisation. The cookie value is returned once; only its hash is stored. */
export async function openSession(
  db: Db,
  userId: string,
  { ip, userAgent }: SessionClient,
  { clock }: Pick<AccessDeps, 'clock'>,
) {
  const { organizationId } = await membershipAfterSignIn(db, await findUser(db, userId))
  describeWrite({ userId, organizationId })
  const now = clock.now().getTime()
  const secret = randomCode(40)
  const times = { createdAt: now, lastUsedAt: now, expiresAt: now + sessionSeconds * 1000 }
  const row = { id: newId('ses'), userId, secretHash: hashToken(secret), ip, userAgent, ...times }
  await db.deleteFrom('sessions').where('expiresAt', '<', now).execute()
  await db.insertInto('sessions').values(row).execute()
  return { cookie: secret, sessionId: row.id, userId, expiresAt: iso(row.expiresAt) }
}

export const endSession = (db: Db, cookie: string) =>
  db.deleteFrom('sessions').where('secretHash', '=', hashToken(cookie)).execute()

/** The caller's user, organisation and permissions. */
export function describeSession(db: Db, caller: Caller): Awaitable<{ data: Session }> {
  const reads = allSync(
    userById.first(db, { id: caller.userId }),
    organizationById.first(db, { id: caller.organizationId }),
    isOperator(db, caller),
  )
  return thenSync(reads, ([user, organization, operator]) => {
    if (!user || !organization) return fail('unauthorized')
    return (operator ? operatorSession : otherSession)(caller, user, organization)
  })
}

const sessionOf = (operator: boolean) =>
  memoizeByRows((caller: Caller, user: UserRow, organization: OrganizationRow) => ({
    data: {
      user: showUser(user),
      organization: showOrganization(organization, caller.role),
      role: caller.role,
      operator,
      permissions: permissionsOf(caller),
      ...(caller.needsSecondFactor ? { needsSecondFactor: true } : {}),
      via: caller.via,
      tokenId: caller.tokenId,
      expiresAt: caller.expiresAt,
    },
  }))
const operatorSession = sessionOf(true)
const otherSession = sessionOf(false)

/** The session of a user who has just signed in: in their default organisation, else in the first one they joined. */
export async function describeNewSession(
  db: Db,
  newSession: Awaited<ReturnType<typeof openSession>>,
  now: number,
): Promise<{ data: Session }> {
  const { organizationId } = await membershipAfterSignIn(db, await findUser(db, newSession.userId))
  const caller = await callerNow(db, { ...newSession, organizationId, tokenId: null }, now)
  return describeSession(db, caller ?? fail('unauthorized'))
}

async function membershipAfterSignIn(db: Db, user: UserRow | undefined): Promise<MemberRow> {
  const organizationId = user?.defaultOrganizationId
  const chosen = user && organizationId ? await findMembership(db, user.id, organizationId) : undefined
  const member = chosen ?? (user && (await firstMembership(db, user.id)))
  return member ?? fail('forbidden', { message: 'You are not a member of any organisation. Ask for a new invitation.' })
}

const firstMembership = (db: Db, userId: string) =>
  db.selectFrom('members').selectAll().where('userId', '=', userId).orderBy('joinedAt').limit(1).executeTakeFirst()

const permissionsOf = (caller: Caller): Permission[] => permissions.filter((tag) => hasPermission(caller, tag))

const userById = preparedQuery((db, { id }: { id: string }) => db.selectFrom('users').selectAll().where('id', '=', id))
const organizationById = preparedQuery((db, { id }: { id: string }) =>
  db.selectFrom('organizations').selectAll().where('id', '=', id),
)
