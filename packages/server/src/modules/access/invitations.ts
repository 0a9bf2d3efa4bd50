import type { Role } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import { newId } from '../../platform/db/ids.ts'
import { describeWrite } from '../../platform/db/write-record.ts'
import { fail } from '../../platform/failure.ts'
import { hashPassword } from '../../platform/secrets/password.ts'
import { hashToken } from '../../platform/secrets/token.ts'
import type { AccessDeps } from './deps.ts'
import { invitationLink, mailInvitation } from './invitation-mail.ts'
import { codeOf, idIn, isCodeOf } from './mailed-code.ts'
import { insertMember, insertUser } from './people.ts'
import { provePassword } from './prove-password.ts'
import { type SpendCode, withSecondFactor } from './second-factor.ts'
import type { SessionClient } from './sessions.ts'
import { openSession } from './sign-in.ts'
import { refuseSecondUser } from './single-user.ts'
import { findMembership, findUserByEmail, showInvitation } from './store.ts'

const validForMs = 7 * 86_400_000

/**
 * Creates an invitation. The code is mailed if the instance has a mail server. A cloud with one only mails it: the code proves
 * ownership of the mailbox.
 */
export async function invite({ email, role }: { email: string; role: Role }, caller: Caller, deps: AccessDeps) {
  const { database, clock, mailer } = deps
  if (role === 'owner' && caller.role !== 'owner') fail('forbidden', { message: 'Only an owner can invite owners' })
  refuseSecondUser(role, deps)
  const existingUser = await findUserByEmail(database.db, email)
  if (existingUser && (await findMembership(database.db, existingUser.id, caller.organizationId)))
    fail('conflict', { message: 'This user is already a member', field: 'email' })
  const now = clock.now().getTime()
  const invited = { id: newId('inv'), organizationId: caller.organizationId, email: email.toLowerCase() }
  const code = codeOf(invited, 'invitation', deps)
  const row = {
    ...invited,
    role,
    codeHash: hashToken(code),
    invitedBy: caller.userId,
    expiresAt: now + validForMs,
    createdAt: now,
  }
  await database.transaction(async (transaction) => {
    const { db } = transaction
    if (mailer?.configured) await mailInvitation(transaction, row, now)
    // A newer invitation replaces an older one for the same address.
    await db.deleteFrom('invitations').where('organizationId', '=', row.organizationId).where('email', '=', row.email).execute()
    await db.insertInto('invitations').values(row).execute()
  })
  const isMailedOnly = deps.isCloud === true && mailer?.configured === true
  return { ...showInvitation(row), ...(isMailedOnly ? { code: null, url: null } : { code, url: invitationLink(row, deps) }) }
}

interface Acceptance {
  code: string
  email: string
  password: string
  name?: string
  /** The second factor of an existing user. */
  secondFactor?: string
  device: string | null
  client: SessionClient
}

/** Accepts an invitation, which is single use and bound to its address: the transaction that creates the member deletes its row. */
export async function acceptInvitation(acceptance: Acceptance, deps: AccessDeps) {
  const { code, email, password, name, device, client } = acceptance
  const { database, clock } = deps
  const now = clock.now().getTime()
  // Password hashing is expensive: reject a wrong code first.
  const validInvitation = await findValidInvitation({ code, email, now }, deps)
  if (!validInvitation) return fail('not_found', { message: invalidInvitationMessage })
  const existingUser = await findUserByEmail(database.db, email)
  // Rate-limited like a sign-in: otherwise a user who may invite could guess a stranger's password here.
  if (existingUser) await provePassword({ email, password, device }, existingUser, deps)
  const passwordHash = existingUser ? existingUser.passwordHash : await hashPassword(password)
  const accept = async (spend: SpendCode) =>
    database.transaction(async ({ db, announce }) => {
      await spend(db)
      const invitation = await db
        .deleteFrom('invitations')
        .where('id', '=', validInvitation.id)
        .where('expiresAt', '>', now)
        .returningAll()
        .executeTakeFirst()
      if (!invitation) fail('not_found', { message: invalidInvitationMessage })
      refuseSecondUser(invitation.role, deps)
      const user = existingUser ?? (await insertUser(db, { email, passwordHash, name }, now))
      await insertMember(db, invitation.organizationId, user.id, invitation.role, now)
      await announce('member.joined', {
        organizationId: invitation.organizationId,
        subject: `${user.email} joined`,
        text: `${user.email} joined as ${invitation.role}.`,
        data: { userId: user.id, role: invitation.role },
      })
      const session = await openSession(db, user.id, client, deps)
      describeWrite({ organizationId: invitation.organizationId, objectKind: 'member', objectId: user.id })
      return { session }
    })
  if (!existingUser) return accept(async () => 'none')
  // An invitation opens a session: otherwise it would be a way around the second factor.
  return withSecondFactor({ email, device, userId: existingUser.id, code: acceptance.secondFactor }, deps, accept)
}

const invalidInvitationMessage =
  'The invitation is invalid: it was already used, withdrawn or expired, or it is for another address. Ask for a new one.'

/**
 * Finds the invitation of a code and verifies the signature, which older keys may have made. Codes of older versions are found by
 * hash.
 */
async function findValidInvitation({ code, email, now }: { code: string; email: string; now: number }, deps: AccessDeps) {
  const codeHash = hashToken(code)
  const row = await deps.database.db
    .selectFrom('invitations')
    .selectAll()
    .where(({ or, eb }) => or([eb('codeHash', '=', codeHash), eb('id', '=', idIn(code))]))
    .where('email', '=', email.toLowerCase())
    .where('expiresAt', '>', now)
    .executeTakeFirst()
  return row && (row.codeHash === codeHash || isCodeOf(row, code, 'invitation', deps)) ? row : undefined
}
