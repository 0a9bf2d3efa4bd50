import type { Caller } from '../../http/handler.ts'
import { iso } from '../../platform/db/columns.ts'
import { newId } from '../../platform/db/ids.ts'
import type { Db } from '../../platform/db/schema.ts'
import { fail } from '../../platform/failure.ts'
import { hashPassword } from '../../platform/secrets/password.ts'
import { hashToken } from '../../platform/secrets/token.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import type { AccessDeps, SignUpSettings } from './deps.ts'
import { codeOf, idIn, isCodeOf } from './mailed-code.ts'
import { insertMember, insertOrganization, insertUser } from './people.ts'
import type { SessionClient } from './sessions.ts'
import { findSetupOrganization } from './setup-organization.ts'
import { openSession } from './sign-in.ts'
import { linkTo, signUpMailKind } from './sign-up-mail.ts'
import { refuseSecondOrganization } from './single-user.ts'
import { findUserByEmail } from './store.ts'

const hour = 3_600_000
const day = 24 * hour
const validForMs = day
const invitationValidForMs = 7 * day
/** Limit per client address: one user needs one or two requests; users who share an address need a few more. */
const maxPerClient = { count: 20, withinMs: day }
/** Limit per e-mail address, so that a client cannot flood another person's mailbox. */
const maxPerEmail = { count: 3, withinMs: hour }

/**
 * Requests a sign-up. The response is the same whether or not the address has an account; only its mailbox receives the
 * difference.
 */
export async function requestSignUp({ email, client }: { email: string; client: string }, deps: AccessDeps) {
  const settings = await requireMode(['open'], deps)
  const now = deps.clock.now().getTime()
  // Only used for counting, so a hash is enough.
  const row = newRow(email, now, validForMs, { client: hashToken(client) })
  await deps.database.transaction(async (transaction) => {
    // Serialized, so that concurrent requests are all counted.
    await transaction.lock('sign-ups')
    await transaction.db
      .deleteFrom('signUps')
      .where('createdAt', '<', now - 8 * day)
      .execute()
    await refuseTooMany(transaction.db, row, settings, now)
    await record(transaction, row)
  })
  return { email: row.email, expiresAt: iso(row.expiresAt) }
}

/** Creates a sign-up invitation for an operator: the code is returned, and mailed if the instance has a mail server. */
export async function inviteToSignUp(email: string, caller: Caller, deps: AccessDeps) {
  await requireMode(['open', 'invitation'], deps)
  if (await findUserByEmail(deps.database.db, email))
    fail('email_taken', { field: 'email', message: 'This user already has an account' })
  const row = newRow(email, deps.clock.now().getTime(), invitationValidForMs, { invitedBy: caller.userId })
  await deps.database.transaction((transaction) => record(transaction, row, deps.mailer?.configured))
  return {
    email: row.email,
    code: codeOf(row, 'sign-up', deps),
    url: linkTo(row, deps),
    expiresAt: iso(row.expiresAt),
  }
}

interface Completion {
  code: string
  email: string
  password: string
  organization: string
  name?: string
  client: SessionClient
}

/** Completes a sign-up. The transaction that creates the account marks the code as used, so of two concurrent requests one wins. */
export async function completeSignUp({ code, email, password, organization, name, client }: Completion, deps: AccessDeps) {
  const { mode } = await requireMode(['open', 'invitation'], deps)
  refuseSecondOrganization(deps)
  const { database, clock } = deps
  const now = clock.now().getTime()
  const row = await validSignUps(database.db, email, now).where('id', '=', idIn(code)).executeTakeFirst()
  const isValid = row && isCodeOf(row, code, 'sign-up', deps) && (mode === 'open' || row.invitedBy !== null)
  // Password hashing is expensive: reject a wrong code first.
  if (!isValid) return fail('not_found', { message: invalidLinkMessage })
  if (await findUserByEmail(database.db, email)) failEmailTaken()
  const passwordHash = await hashPassword(password)
  return database.transaction(async ({ db }) => {
    const usedRow = await db
      .updateTable('signUps')
      .set({ usedAt: now })
      .where('email', '=', row.email)
      .where('usedAt', 'is', null)
      .returning('id')
      .execute()
    if (!usedRow.some(({ id }) => id === row.id)) fail('not_found', { message: invalidLinkMessage })
    if (await findUserByEmail(db, email)) failEmailTaken()
    const user = await insertUser(db, { email, passwordHash, name: name ?? null }, now)
    const { id } = await insertOrganization(db, organization, now)
    await insertMember(db, id, user.id, 'owner', now)
    return openSession(db, user.id, client, deps)
  })
}

const invalidLinkMessage = 'The code is invalid: it was already used or expired, or it is for another address. Sign up again.'
const failEmailTaken = () => fail('email_taken', { field: 'email', message: 'This address already has an account. Sign in.' })

/**
 * Rejects sign-up where the mode does not allow it. A self-hosted instance has no such route, and a cloud that is not set up has
 * no operator yet.
 */
async function requireMode(modes: readonly SignUpSettings['mode'][], { signUp, database }: AccessDeps): Promise<SignUpSettings> {
  if (!signUp || signUp.mode === 'closed') return fail('not_found', { message: 'This route does not exist' })
  if (!modes.includes(signUp.mode))
    fail('forbidden', { message: 'Sign-up requires an invitation. Ask the operator of this cloud for one.' })
  if (!(await findSetupOrganization.first(database.db, {}))) fail('starting')
  return signUp
}

interface Requested {
  client?: string
  invitedBy?: string
}

const newRow = (email: string, now: number, lifetimeMs: number, { client = '', invitedBy = '' }: Requested) => ({
  id: newId('inv'),
  email: email.toLowerCase(),
  client: client || null,
  invitedBy: invitedBy || null,
  createdAt: now,
  expiresAt: now + lifetimeMs,
  usedAt: null,
})

async function record({ db, enqueue }: TransactionContext, row: ReturnType<typeof newRow>, isMailed = true): Promise<void> {
  await db.insertInto('signUps').values(row).execute()
  if (isMailed) await enqueue(signUpMailKind, { signUpId: row.id })
}

const validSignUps = (db: Db, email: string, now: number) =>
  db
    .selectFrom('signUps')
    .selectAll()
    .where('email', '=', email.toLowerCase())
    .where('usedAt', 'is', null)
    .where('expiresAt', '>', now)

async function refuseTooMany(
  db: Db,
  { email, client }: { email: string; client: string | null },
  { perHour }: SignUpSettings,
  now: number,
): Promise<void> {
  const since = (withinMs: number) =>
    db
      .selectFrom('signUps')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('invitedBy', 'is', null)
      .where('createdAt', '>', now - withinMs)
  const tooMany = async (query: ReturnType<typeof since>, { count, withinMs }: { count: number; withinMs: number }) => {
    const { count: found } = await query.executeTakeFirstOrThrow()
    if (Number(found) >= count)
      fail('rate_limited', { retryAfterSeconds: withinMs / 1000, message: 'Too many sign-up requests. Try again later.' })
  }
  await tooMany(since(maxPerEmail.withinMs).where('email', '=', email), maxPerEmail)
  await tooMany(since(maxPerClient.withinMs).where('client', '=', client), maxPerClient)
  await tooMany(since(hour), { count: perHour, withinMs: hour })
}
