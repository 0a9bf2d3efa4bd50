import type { Awaitable } from '../../platform/awaitable.ts'
import type { Db } from '../../platform/db/schema.ts'
import { fail } from '../../platform/failure.ts'
import { hashPassword } from '../../platform/secrets/password.ts'
import type { Secret } from '../../platform/secrets/secret.ts'
import { hashToken } from '../../platform/secrets/token.ts'
import type { AccessDeps } from './deps.ts'
import { insertMember, insertOwner } from './people.ts'
import { randomCode } from './random-code.ts'
import { findSetupOrganization, noteSetupOrganization } from './setup-organization.ts'
import { openSession } from './sign-in.ts'
import { findUserByEmail, hasUsers } from './store.ts'

const setupKey = 'setupCodeHash'

/** On an instance without users: the owner from the settings, or a fresh one-time set-up link to print. */
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
    // The port may be known only once the instance listens, which it does after this.
    get setupUrl() {
      return `${deps.publicUrl()}/setup?code=${code}`
    },
  }
}

/** Whether somebody can sign in, or set the instance up: from then on for good. */
export function createReadiness({ database: { db } }: AccessDeps): () => Awaitable<boolean> {
  let isReady = false
  const look = async () => {
    const code = db.selectFrom('instance').select('key').where('key', '=', setupKey).executeTakeFirst()
    isReady = (await hasUsers(db)) || !!(await code)
    return isReady
  }
  return () => isReady || look()
}

const wrongCode = 'The set-up code is wrong: restart the instance to get a new link'

const isSetupCode = async (db: Db, code: string) =>
  !!(await db
    .selectFrom('instance')
    .select('key')
    .where('key', '=', setupKey)
    .where('value', '=', hashToken(code))
    .executeTakeFirst())

interface Setup {
  code: string
  email: string
  password: string
  organization: string
}

/** The code's row is deleted by the transaction that makes the owner, so that of two who try at once one wins. */
export async function setUp({ code, email, password, organization }: Setup, deps: AccessDeps) {
  const { database, clock } = deps
  // Hashing is dear: a guess that is wrong anyway must not buy any.
  if (await hasUsers(database.db)) fail('already_set_up')
  if (!(await isSetupCode(database.db, code))) fail('not_found', { words: wrongCode })
  const passwordHash = await hashPassword(password)
  return database.transaction(async ({ db }) => {
    if (await hasUsers(db)) fail('already_set_up')
    const spent = await db
      .deleteFrom('instance')
      .where('key', '=', setupKey)
      .where('value', '=', hashToken(code))
      .returning('key')
      .executeTakeFirst()
    if (!spent) fail('not_found', { words: wrongCode })
    const owner = await insertOwner(db, { email, passwordHash, organization }, clock.now().getTime())
    await noteSetupOrganization(db, owner.organizationId)
    return { ...owner, session: await openSession(db, owner.userId, deps) }
  })
}

/**
 * `berth admin create`: makes an owner, or gives a known person a new password and the organisation made at set-up. Whoever
 * had the old password, or got in with it, is out.
 */
export async function createAdmin({ email, password, organization }: Omit<Setup, 'code'>, { database, clock }: AccessDeps) {
  const now = clock.now().getTime()
  const passwordHash = await hashPassword(password)
  return database.transaction(async ({ db }) => {
    const setUp = await findSetupOrganization.first(db, {})
    await db.deleteFrom('instance').where('key', '=', setupKey).execute()
    const known = await findUserByEmail(db, email)
    if (known) {
      await db.updateTable('users').set({ passwordHash }).where('id', '=', known.id).execute()
      await db.deleteFrom('sessions').where('userId', '=', known.id).execute()
    }
    if (known && setUp) {
      await insertMember(db, setUp.id, known.id, 'owner', now)
      return { userId: known.id, organizationId: setUp.id }
    }
    const owner = await insertOwner(db, { email, passwordHash, organization }, now)
    await noteSetupOrganization(db, owner.organizationId)
    return owner
  })
}
