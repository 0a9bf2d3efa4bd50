import type { Role } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import { newId } from '../../platform/db/ids.ts'
import type { Db } from '../../platform/db/schema.ts'
import { fail } from '../../platform/failure.ts'
import { hashPassword } from '../../platform/secrets/password.ts'
import { hashToken } from '../../platform/secrets/token.ts'
import type { AccessDeps } from './deps.ts'
import { refuseSecondPerson } from './one-person.ts'
import { insertMember, insertUser } from './people.ts'
import { provePassword } from './prove-password.ts'
import { randomCode } from './random-code.ts'
import { openSession } from './sign-in.ts'
import { findMembership, findUserByEmail, showInvitation } from './store.ts'

const goodForMs = 7 * 86_400_000

export async function invite({ email, role }: { email: string; role: Role }, caller: Caller, deps: AccessDeps) {
  const { database, clock, publicUrl } = deps
  if (role === 'owner' && caller.role !== 'owner') fail('forbidden', { words: 'Only an owner makes owners' })
  refuseSecondPerson(role, deps)
  const known = await findUserByEmail(database.db, email)
  if (known && (await findMembership(database.db, known.id, caller.organizationId)))
    fail('conflict', { words: 'This person is already a member', field: 'email' })
  const code = randomCode(32)
  const now = clock.now().getTime()
  const row = {
    id: newId('inv'),
    organizationId: caller.organizationId,
    email: email.toLowerCase(),
    role,
    codeHash: hashToken(code),
    invitedBy: caller.userId,
    expiresAt: now + goodForMs,
    createdAt: now,
  }
  await database.transaction(async ({ db }) => {
    // A newer invitation of the same address takes the place of the older one.
    await db.deleteFrom('invitations').where('organizationId', '=', row.organizationId).where('email', '=', row.email).execute()
    await db.insertInto('invitations').values(row).execute()
  })
  return { ...showInvitation(row), code, url: `${publicUrl()}/invitations/${code}?email=${encodeURIComponent(row.email)}` }
}

interface Acceptance {
  code: string
  email: string
  password: string
  name?: string
  device: string | null
}

/** Single use and bound to the address: the row is deleted by the transaction that makes the member. */
export async function acceptInvitation({ code, email, password, name, device }: Acceptance, deps: AccessDeps) {
  const { database, clock } = deps
  const now = clock.now().getTime()
  // Hashing is dear: a guess that is wrong anyway must not buy any.
  if (!(await goodInvitation(database.db, code, email, now).executeTakeFirst())) fail('not_found', { words: notGood })
  const known = await findUserByEmail(database.db, email)
  // Whoever may invite could else guess at a stranger's password here.
  if (known) await provePassword({ email, password, device }, known, deps)
  const passwordHash = known ? known.passwordHash : await hashPassword(password)
  return database.transaction(async ({ db, announce }) => {
    const invitation = await db
      .deleteFrom('invitations')
      .where('codeHash', '=', hashToken(code))
      .where('email', '=', email.toLowerCase())
      .where('expiresAt', '>', now)
      .returningAll()
      .executeTakeFirst()
    if (!invitation) fail('not_found', { words: notGood })
    refuseSecondPerson(invitation.role, deps)
    const user = known ?? (await insertUser(db, { email, passwordHash, name }, now))
    await insertMember(db, invitation.organizationId, user.id, invitation.role, now)
    await announce('member.joined', {
      organizationId: invitation.organizationId,
      subject: `${user.email} joined`,
      text: `${user.email} joined as ${invitation.role}.`,
      data: { userId: user.id, role: invitation.role },
    })
    const session = await openSession(db, user.id, deps)
    return { session, organizationId: invitation.organizationId }
  })
}

const notGood = 'This invitation is not good: it was used, withdrawn, ran out, or is for another address'

const goodInvitation = (db: Db, code: string, email: string, now: number) =>
  db
    .selectFrom('invitations')
    .select('id')
    .where('codeHash', '=', hashToken(code))
    .where('email', '=', email.toLowerCase())
    .where('expiresAt', '>', now)
