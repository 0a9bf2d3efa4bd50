import type { Awaitable } from '../../platform/awaitable.ts'
import type { Db } from '../../platform/db/schema.ts'
import { fail } from '../../platform/failure.ts'
import { hashPassword } from '../../platform/secrets/password.ts'
import type { Secret } from '../../platform/secrets/secret.ts'
import { hashToken } from '../../platform/secrets/token.ts'
import type { AccessDeps } from './deps.ts'
import { insertMember, insertOwner } from './people.ts'
import { randomCode } from './random-code.ts'
import type { SessionClient } from './sessions.ts'
import { findSetupOrganization, recordSetupOrganization } from './setup-organization.ts'
import { openSession } from './sign-in.ts'
import { findUserByEmail, hasUsers } from './store.ts'

const setupKey = 'setupCodeHash'

/** Prepares an instance without users: creates the owner from the settings, or returns a new one-time set-up link to print. */
export async function prepareFirstStart(
  { adminEmail, adminPassword }: { adminEmail: string | null; adminPassword: Secret | null },
  deps: AccessDeps,
): Promise<{ setupUrl: string | null }> {
  if (await hasUsers(deps.database.db)) return { setupUrl: null }
  if (adminEmail && adminPassword) {
    await createAdmin({ email: adminEmail, password: adminPassword.reveal(), organization: 'Home' }, deps)
    return { setupUrl: null }
  }
  const code = randomCode(32)
  await deps.database.db
    .insertInto('instance')
    .values({ key: setupKey, value: hashToken(code) })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: hashToken(code) }))
    .execute()
  return {
    // A getter, because the port may be known only once the instance listens.
    get setupUrl() {
      return `${deps.publicUrl()}/setup?code=${code}`
    },
  }
}

/** Whether a user can sign in or set the instance up. Once true, it stays true. */
export function createReadiness({ database: { db } }: AccessDeps): () => Awaitable<boolean> {
  let isReady = false
  const check = async () => {
    const code = db.selectFrom('instance').select('key').where('key', '=', setupKey).executeTakeFirst()
    isReady = (await hasUsers(db)) || !!(await code)
    return isReady
  }
  return () => isReady || check()
}

/** Whether the first owner exists. Once true, it stays true. */
export function createSetUpCheck({ database: { db } }: AccessDeps): () => Awaitable<boolean> {
  let isSetUp = false
  const check = async () => {
    isSetUp = await hasUsers(db)
    return isSetUp
  }
  return () => isSetUp || check()
}

const wrongCode = 'The set-up code is invalid. Restart the instance to get a new link.'

const isSetupCode = async (db: Db, code: string) =>
  !!(await db
    .selectFrom('instance')
    .select('key')
    .where('key', '=', setupKey)
    .where('value', '=', hashToken(code))
    .executeTakeFirst())

interface Setup {
  client: SessionClient
  code: string
  email: string
  password: string
  organization: string
}

/** Creates the first owner. The same transaction deletes the code's row, so of two concurrent requests one wins. */
export async function setUp({ code, email, password, organization, client }: Setup, deps: AccessDeps) {
  const { database, clock } = deps
  // Password hashing is expensive: reject a wrong code first.
  if (await hasUsers(database.db)) fail('already_set_up')
  if (!(await isSetupCode(database.db, code))) fail('not_found', { message: wrongCode })
  const passwordHash = await hashPassword(password)
  return database.transaction(async ({ db }) => {
    if (await hasUsers(db)) fail('already_set_up')
    const used = await db
      .deleteFrom('instance')
      .where('key', '=', setupKey)
      .where('value', '=', hashToken(code))
      .returning('key')
      .executeTakeFirst()
    if (!used) fail('not_found', { message: wrongCode })
    const owner = await insertOwner(db, { email, passwordHash, organization }, clock.now().getTime())
    await recordSetupOrganization(db, owner.organizationId)
    return { ...owner, session: await openSession(db, owner.userId, client, deps) }
  })
}

/**
 * `berth admin create`: creates an owner, or gives an existing user a new password and ownership of the set-up organisation. All
 * sessions of that user end.
 */
export async function createAdmin(
  { email, password, organization }: Omit<Setup, 'code' | 'client'>,
  { database, clock }: AccessDeps,
) {
  const now = clock.now().getTime()
  const passwordHash = await hashPassword(password)
  return database.transaction(async ({ db }) => {
    const setUp = await findSetupOrganization.first(db, {})
    await db.deleteFrom('instance').where('key', '=', setupKey).execute()
    const existing = await findUserByEmail(db, email)
    if (existing) {
      await db.updateTable('users').set({ passwordHash }).where('id', '=', existing.id).execute()
      await db.deleteFrom('sessions').where('userId', '=', existing.id).execute()
    }
    if (existing && setUp) {
      await insertMember(db, setUp.id, existing.id, 'owner', now)
      return { userId: existing.id, organizationId: setUp.id }
    }
    const owner = await insertOwner(db, { email, passwordHash, organization }, now)
    await recordSetupOrganization(db, owner.organizationId)
    return owner
  })
}
