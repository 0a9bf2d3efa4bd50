import type { Role } from '@berth/contract'
import { newId } from '../../platform/db/ids.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { OrganizationRow, UserRow } from '../../platform/db/tables/access.ts'
import { randomCode } from './random-code.ts'
import { findUserByEmail } from './store.ts'

/** Inserts users, organisations and members within the caller's transaction. */

export async function insertUser(
  db: Db,
  { email, passwordHash, name = null }: { email: string; passwordHash: string; name?: string | null },
  now: number,
): Promise<UserRow> {
  const row = { id: newId('usr'), email: email.toLowerCase(), name, passwordHash, defaultOrganizationId: null, createdAt: now }
  await db.insertInto('users').values(row).execute()
  return row
}

/** Creates an organisation. If its slug is taken, a random suffix is added. */
export async function insertOrganization(db: Db, name: string, now: number): Promise<OrganizationRow> {
  const baseSlug = slugOf(name)
  const settings = { memberRepositories: null, quotas: null, requireTwoFactor: 0 as const }
  const organization = { id: newId('org'), name: name.trim(), ...settings, createdAt: now }
  for (const slug of [baseSlug, `${baseSlug}-${randomCode(6)}`]) {
    const row = { ...organization, slug }
    const inserted = await db
      .insertInto('organizations')
      .values(row)
      .onConflict((conflict) => conflict.column('slug').doNothing())
      .returning('id')
      .executeTakeFirst()
    if (inserted) return row
  }
  throw new Error(`every slug derived from ${baseSlug} is already used`)
}

/** Adds a member; an existing membership keeps its role. */
export async function insertMember(db: Db, organizationId: string, userId: string, role: Role, now: number): Promise<void> {
  await db
    .insertInto('members')
    .values({ organizationId, userId, role, joinedAt: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await db
    .updateTable('users')
    .set({ defaultOrganizationId: organizationId })
    .where('id', '=', userId)
    .where('defaultOrganizationId', 'is', null)
    .execute()
}

/** Creates a user with an organisation of their own, for set-up and `berth admin create`. */
export async function insertOwner(
  db: Db,
  { email, passwordHash, organization }: { email: string; passwordHash: string; organization: string },
  now: number,
): Promise<{ userId: string; organizationId: string }> {
  const user = (await findUserByEmail(db, email)) ?? (await insertUser(db, { email, passwordHash }, now))
  const { id } = await insertOrganization(db, organization, now)
  await insertMember(db, id, user.id, 'owner', now)
  return { userId: user.id, organizationId: id }
}

const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 50) || 'organisation'
