import { iso } from '../../platform/db/columns.ts'
import { newId } from '../../platform/db/ids.ts'
import type { Db } from '../../platform/db/schema.ts'
import { describeWrite } from '../../platform/db/write-record.ts'
import { fail } from '../../platform/failure.ts'
import { type JobKind, job } from '../../platform/jobs/declare.ts'
import { hashPassword } from '../../platform/secrets/password.ts'
import { createAuditLog } from './audit-log.ts'
import type { AccessDeps } from './deps.ts'
import { mailOf } from './mail-with-link.ts'
import { codeOf, idIn, isCodeOf } from './mailed-code.ts'
import { deleteSecondFactor, hasTotp } from './second-factor.ts'
import { revokeTokens } from './sessions.ts'
import { findUserByEmail } from './store.ts'

const validForMs = 30 * 60_000
/** Limit per address, so that a client cannot flood another person's mailbox. */
const maxPerEmail = { count: 3, withinMs: 3_600_000 }
const purpose = 'password-reset'

interface ResetMail {
  resetId: string
}
const resetMailKind: JobKind<ResetMail> = { kind: 'access.password-reset-mail' }

/** Requests a mail with a link. The response is the same whether or not the address has an account. */
export async function requestPasswordReset(email: string, { database, clock, mailer }: AccessDeps) {
  if (!mailer?.configured)
    fail('conflict', {
      message:
        'This instance has no mail server. An operator can reset the password on the machine with: berth admin reset <email>',
    })
  const now = clock.now().getTime()
  const row = { id: newId('inv'), email: email.toLowerCase(), createdAt: now, expiresAt: now + validForMs, usedAt: null }
  await database.transaction(async ({ db, lock, enqueue }) => {
    // Serialized, so that concurrent requests are all counted.
    await lock('password-resets')
    await db
      .deleteFrom('passwordResets')
      .where('createdAt', '<', now - maxPerEmail.withinMs)
      .execute()
    const { count } = await db
      .selectFrom('passwordResets')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('email', '=', row.email)
      .executeTakeFirstOrThrow()
    if (Number(count) >= maxPerEmail.count)
      fail('rate_limited', { retryAfterSeconds: 3600, message: 'Too many mails to this address. Try again in an hour.' })
    await db.insertInto('passwordResets').values(row).execute()
    await enqueue(resetMailKind, { resetId: row.id })
  })
  return { email: row.email, expiresAt: iso(row.expiresAt) }
}

/** Sends the mails in a job, so that the response time reveals nothing about the address. An unknown address gets no mail. */
export const passwordResetMailJob = (deps: AccessDeps) =>
  job<ResetMail, unknown>(resetMailKind.kind, {
    deadlineMs: 60_000,
    maxAttempts: 5,
    concurrency: 4,
    run: async ({ resetId }, _deps, abort) => {
      const { db } = deps.database
      const row = await db.selectFrom('passwordResets').selectAll().where('id', '=', resetId).executeTakeFirst()
      if (!row || row.usedAt !== null || !deps.mailer || !(await findUserByEmail(db, row.email))) return
      const link = `${deps.publicUrl()}/reset-password?code=${encodeURIComponent(codeOf(row, purpose, deps))}`
      const lines = [
        'Set a new password with this link. It works once, within 30 minutes. If you did not request it, ignore this message:',
      ]
      await deps.mailer.send(
        { ...mailOf({ subject: 'Reset your password', lines, link }), to: row.email, messageId: row.id },
        abort,
      )
    },
  })

const invalidLinkMessage = 'The link is invalid: it was already used or expired. Request a new one.'

/** Sets a new password with a mailed code, which is single use. Two-factor authentication stays on. */
export async function resetPassword({ code, password }: { code: string; password: string }, deps: AccessDeps) {
  const { database, clock } = deps
  const now = clock.now().getTime()
  const row = await database.db
    .selectFrom('passwordResets')
    .selectAll()
    .where('id', '=', idIn(code))
    .where('usedAt', 'is', null)
    .where('expiresAt', '>', now)
    .executeTakeFirst()
  const user = row && isCodeOf(row, code, purpose, deps) ? await findUserByEmail(database.db, row.email) : undefined
  // Password hashing is expensive: reject a wrong code first.
  if (!row || !user) return fail('not_found', { message: invalidLinkMessage })
  const passwordHash = await hashPassword(password)
  return database.transaction(async ({ db }) => {
    // Other links for the address end too.
    const used = await db
      .updateTable('passwordResets')
      .set({ usedAt: now })
      .where('email', '=', row.email)
      .where('usedAt', 'is', null)
      .returning('id')
      .execute()
    if (!used.some(({ id }) => id === row.id)) fail('not_found', { message: invalidLinkMessage })
    await setPassword(db, user.id, passwordHash)
    describeWrite({
      userId: user.id,
      ...(user.defaultOrganizationId ? { organizationId: user.defaultOrganizationId } : {}),
      objectKind: 'user',
      objectId: user.id,
    })
    return { email: user.email }
  })
}

interface AccountReset {
  email: string
  password: string
  keepTotp: boolean
  revokeTokens: boolean
}

/** `berth admin reset`: a user who lost the password or the phone can sign in again. Null: no such user. */
export async function resetAccount({ email, password, keepTotp, ...options }: AccountReset, deps: AccessDeps) {
  const user = await findUserByEmail(deps.database.db, email)
  if (!user) return null
  const passwordHash = await hashPassword(password)
  const auditLog = createAuditLog(deps)
  return deps.database.transaction(async ({ db, lock }) => {
    const endedSessions = await setPassword(db, user.id, passwordHash)
    const hadTotp = await hasTotp(db, user.id)
    if (!keepTotp) await deleteSecondFactor(db, user.id)
    const revokedTokens = options.revokeTokens ? await revokeTokens(db, user.id, null) : 0
    const result = { userId: user.id, endedSessions, revokedTokens, hadTotp }
    const changes = { email: user.email, endedSessions, revokedTokens, turnedOffTotp: hadTotp && !keepTotp }
    const place = { organizationId: user.defaultOrganizationId, objectKind: 'user', objectId: user.id }
    const actor = { userId: null, tokenId: null, ip: '', requestId: '' }
    await auditLog.append({ db, lock }, { action: 'berth admin reset', ...place, ...actor, changes })
    return result
  })
}

/** Sets the password, removes passkeys, which another person may have added, and ends all sessions; returns how many. */
async function setPassword(db: Db, userId: string, passwordHash: string): Promise<number> {
  await db.updateTable('users').set({ passwordHash }).where('id', '=', userId).execute()
  await db.deleteFrom('passkeys').where('userId', '=', userId).execute()
  const ended = await db.deleteFrom('sessions').where('userId', '=', userId).returning('id').execute()
  return ended.length
}
