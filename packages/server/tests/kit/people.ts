import type { Role } from '@berth/contract'
import { insertMember, insertOrganization, insertUser } from '../../src/modules/access/people.ts'
import { randomCode } from '../../src/modules/access/random-code.ts'
import { recordSetupOrganization } from '../../src/modules/access/setup-organization.ts'
import { newId } from '../../src/platform/db/ids.ts'
import { hashPassword } from '../../src/platform/secrets/password.ts'
import { hashToken } from '../../src/platform/secrets/token.ts'
import type { TestInstance } from './instance.ts'

export interface Person {
  userId: string
  email: string
  organizationId: string
  token: string
}

export interface People extends Record<Role, Person> {
  organizationId: string
}

/** The password of every user created here. */
export const password = 'correct horse battery'
/** Hash with little work, shared by all users: a real hash would take longer than most tests. */
const passwordHash = hashPassword(password, { cost: 64, blockSize: 8, parallelization: 1 })

/**
 * An organisation with one user per role, each with a token that has all of the role's permissions. The first one of an instance is
 * the organisation that set-up would have created: its owner and its admin are the operators.
 */
export async function makePeople({ database }: Pick<TestInstance, 'database'>): Promise<People> {
  const hash = await passwordHash
  return database.transaction(async ({ db }) => {
    const now = Date.now()
    const { id: organizationId } = await insertOrganization(db, `Test ${randomCode(10)}`, now)
    await recordSetupOrganization(db, organizationId)
    const join = async (role: Role): Promise<Person> => {
      const email = `${role}-${randomCode(10)}@example.test`
      const { id: userId } = await insertUser(db, { email, passwordHash: hash }, now)
      await insertMember(db, organizationId, userId, role, now)
      return { userId, email, organizationId, token: await insertToken(db, { userId, organizationId }) }
    }
    return {
      organizationId,
      owner: await join('owner'),
      admin: await join('admin'),
      member: await join('member'),
      viewer: await join('viewer'),
    }
  })
}

export interface TokenLimits {
  scopes?: readonly string[]
  projectIds?: readonly string[]
  /** Milliseconds since 1970. */
  expiresAt?: number
}

/** Another token of a user, with the given limits. */
export const makeToken = (
  { database }: Pick<TestInstance, 'database'>,
  person: Pick<Person, 'userId' | 'organizationId'>,
  limits: TokenLimits = {},
): Promise<string> => insertToken(database.db, person, limits)

async function insertToken(
  db: TestInstance['database']['db'],
  { userId, organizationId }: Pick<Person, 'userId' | 'organizationId'>,
  { scopes, projectIds, expiresAt }: TokenLimits = {},
): Promise<string> {
  const value = `brt_${randomCode(40)}`
  await db
    .insertInto('tokens')
    .values({
      id: newId('tok'),
      userId,
      organizationId,
      name: 'test',
      secretHash: hashToken(value),
      lastFour: value.slice(-4),
      scopes: scopes ? JSON.stringify(scopes) : null,
      projectIds: projectIds ? JSON.stringify(projectIds) : null,
      expiresAt: expiresAt ?? null,
      lastUsedAt: null,
      createdAt: Date.now(),
    })
    .execute()
  return value
}
