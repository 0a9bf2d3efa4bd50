import {
  type AuditEntry,
  type Grant,
  hasPermission,
  type Invitation,
  type Member,
  type Organization,
  type QuotaName,
  type Role,
  type Token,
  type User,
} from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import { iso, isoOrNull } from '../../platform/db/columns.ts'
import { auditJson, organizationJson, tokenJson } from '../../platform/db/json-columns/access.ts'
import { memoizeByRows } from '../../platform/db/memoize-rows.ts'
import { createListResponse, listResponse, type Page, page, preparedPage } from '../../platform/db/pages.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { AuditRow, InvitationRow, MemberRow, OrganizationRow, TokenRow, UserRow } from '../../platform/db/tables/access.ts'
import { changesCharacters, shortenedText } from './audit-changes.ts'

/** SQL of the access module, except for the queries of every request (see `credentials.ts`). */

export interface ListRequest {
  limit?: number
  cursor?: string
}

export const newestFirst = { by: ['createdAt', 'id'], direction: 'desc' } as const
export const paging = ({ limit, cursor }: ListRequest) => ({ limit: limit ?? 100, cursor: cursor ?? null })

export const findUserByEmail = (db: Db, email: string): Promise<UserRow | undefined> =>
  db.selectFrom('users').selectAll().where('email', '=', email.toLowerCase()).executeTakeFirst()

export const findUser = (db: Db, id: string): Promise<UserRow | undefined> =>
  db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()

/** Locks the user's row until the transaction ends, by an update that changes nothing; returns the current password hash. */
export const lockUser = (db: Db, id: string): Promise<Pick<UserRow, 'passwordHash'> | undefined> =>
  db
    .updateTable('users')
    .set(({ ref }) => ({ passwordHash: ref('passwordHash') }))
    .where('id', '=', id)
    .returning('passwordHash')
    .executeTakeFirst()

export async function hasUsers(db: Db): Promise<boolean> {
  return !!(await db.selectFrom('users').select('id').limit(1).executeTakeFirst())
}

export const findMembership = (db: Db, userId: string, organizationId: string): Promise<MemberRow | undefined> =>
  db
    .selectFrom('members')
    .selectAll()
    .where('userId', '=', userId)
    .where('organizationId', '=', organizationId)
    .executeTakeFirst()

export const findOrganization = (db: Db, id: string): Promise<OrganizationRow | undefined> =>
  db.selectFrom('organizations').selectAll().where('id', '=', id).executeTakeFirst()

export async function memberRepositories(db: Db, organizationId: string): Promise<string[] | null> {
  const row = await findOrganization(db, organizationId)
  return row ? organizationJson.memberRepositories(row) : null
}

/** Quota limits that an operator set for the organisation. */
export async function quotaOverride(db: Db, organizationId: string): Promise<Partial<Record<QuotaName, number>> | null> {
  const row = await db.selectFrom('organizations').select(['id', 'quotas']).where('id', '=', organizationId).executeTakeFirst()
  return row ? organizationJson.quotas(row) : null
}

/** Number of organisations that a user owns. */
export async function countOwned(db: Db, userId: string): Promise<number> {
  const { count } = await db
    .selectFrom('members')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('userId', '=', userId)
    .where('role', '=', 'owner')
    .executeTakeFirstOrThrow()
  return Number(count)
}

export function listOrganizations(db: Db, userId: string, request: ListRequest) {
  const query = db
    .selectFrom('organizations')
    .innerJoin('members', 'members.organizationId', 'organizations.id')
    .where('members.userId', '=', userId)
    .selectAll('organizations')
    .select('members.role')
  return page(query, { ...paging(request), by: ['organizations.createdAt', 'organizations.id'], direction: 'asc' })
}

export function listMembers(db: Db, organizationId: string, request: ListRequest) {
  return page(membersWithUsers(db).where('members.organizationId', '=', organizationId), {
    ...paging(request),
    by: ['members.joinedAt', 'members.userId'],
    direction: 'asc',
  })
}

export const findMemberWithUser = (db: Db, organizationId: string, userId: string) =>
  membersWithUsers(db)
    .where('members.organizationId', '=', organizationId)
    .where('members.userId', '=', userId)
    .executeTakeFirstOrThrow()

const membersWithUsers = (db: Db) =>
  db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.userId')
    .leftJoin('totpFactors', 'totpFactors.userId', 'members.userId')
    .select(['members.userId', 'members.role', 'members.joinedAt', 'users.email', 'users.name', 'totpFactors.confirmedAt'])

export async function countOwners(db: Db, organizationId: string): Promise<number> {
  const { count } = await db
    .selectFrom('members')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('organizationId', '=', organizationId)
    .where('role', '=', 'owner')
    .executeTakeFirstOrThrow()
  return Number(count)
}

const tokensOf = preparedPage(
  (db, { userId, organizationId }: { userId: string; organizationId: string }) =>
    db.selectFrom('tokens').selectAll().where('userId', '=', userId).where('organizationId', '=', organizationId),
  newestFirst,
)

export const listTokens = (db: Db, userId: string, organizationId: string, request: ListRequest) =>
  tokensOf(db, { userId, organizationId }, paging(request))

/** Tokens of all organisations that expire between `after` and `until`. */
export const findExpiringTokens = (db: Db, after: number, until: number) =>
  db
    .selectFrom('tokens')
    .select(['id', 'name', 'lastFour', 'userId', 'organizationId', 'createdAt', 'expiresAt'])
    .where('expiresAt', '>', after)
    .where('expiresAt', '<=', until)
    .execute()

export const listInvitations = (db: Db, organizationId: string, now: number, request: ListRequest) =>
  page(db.selectFrom('invitations').selectAll().where('organizationId', '=', organizationId).where('expiresAt', '>', now), {
    ...paging(request),
    ...newestFirst,
  })

export const listGrants = (db: Db, projectId: string, request: ListRequest) =>
  page(
    db
      .selectFrom('grants')
      .innerJoin('users', 'users.id', 'grants.userId')
      .where('grants.projectId', '=', projectId)
      .select(['grants.userId', 'grants.level', 'grants.updatedAt', 'users.email']),
    { ...paging(request), by: ['grants.userId'], direction: 'asc' },
  )

const auditColumns = [
  ...(['id', 'organizationId', 'sequence', 'at', 'action', 'userId', 'userEmail', 'tokenId', 'ip'] as const),
  ...(['objectKind', 'objectId', 'requestId', 'previousHash', 'hash'] as const),
] as const satisfies (keyof AuditRow)[]

interface AuditCriteria {
  action?: string
  objectId?: string
  userId?: string
}

export const listAudit = (
  db: Db,
  organizationId: string,
  { action, objectId, userId, ...request }: ListRequest & AuditCriteria,
) =>
  auditPage(
    db,
    {
      organizationId,
      ...(action ? { action } : {}),
      ...(objectId ? { objectId } : {}),
      ...(userId ? { userId } : {}),
    },
    paging(request),
  )

function auditWhere(db: Db, { organizationId, action, objectId, userId }: AuditCriteria & { organizationId: string }) {
  let query = db
    .selectFrom('auditLog')
    .select(auditColumns)
    // An earlier version stored whole bodies. They are kept for the hash, but not loaded for a page.
    .select((eb) => [
      eb
        .case()
        .when(eb(eb.fn<number>('length', ['changes']), '<=', changesCharacters))
        .then(eb.ref('changes'))
        .else(null)
        .end()
        .as('changes'),
      eb.fn<number | string>('length', ['changes']).as('changesLength'),
    ])
    .where('organizationId', '=', organizationId)
  if (action) query = query.where('action', '=', action)
  if (objectId) query = query.where('objectId', '=', objectId)
  if (userId) query = query.where('userId', '=', userId)
  return query
}

const auditPage = preparedPage<AuditCriteria & { organizationId: string }, 'auditLog', ListedAudit>(auditWhere, {
  by: ['sequence'],
  direction: 'desc',
})

export const showUser = ({ id, email, name, createdAt }: UserRow): User => ({ id, email, name, createdAt: iso(createdAt) })

export const showOrganization = (row: OrganizationRow, role: Role | null): Organization => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  role,
  memberRepositories: organizationJson.memberRepositories(row),
  requireTwoFactor: row.requireTwoFactor === 1,
  createdAt: iso(row.createdAt),
})

export const showToken = (row: TokenRow): Token => ({
  id: row.id,
  name: row.name,
  scopes: tokenJson.scopes(row),
  projectIds: tokenJson.projectIds(row),
  lastFour: row.lastFour,
  expiresAt: isoOrNull(row.expiresAt),
  lastUsedAt: isoOrNull(row.lastUsedAt),
  createdAt: iso(row.createdAt),
})

export const showTokens = memoizeByRows((tokens: Page<TokenRow>) => listResponse(tokens, showToken))

/** Members without a second factor are targets: only callers who manage members see who they are. */
export const showMember =
  (caller: Caller) =>
  ({ confirmedAt, ...row }: Awaited<ReturnType<typeof findMemberWithUser>>): Member => ({
    ...row,
    ...(hasPermission(caller, 'member:admin') ? { twoFactor: confirmedAt !== null } : {}),
    joinedAt: iso(row.joinedAt),
  })

export const showInvitation = (row: InvitationRow): Invitation => ({
  id: row.id,
  email: row.email,
  role: row.role,
  invitedBy: row.invitedBy,
  expiresAt: iso(row.expiresAt),
  createdAt: iso(row.createdAt),
})

export const showGrant = (row: { userId: string; email: string; level: Grant['level']; updatedAt: number }): Grant => ({
  ...row,
  updatedAt: iso(row.updatedAt),
})

type ListedAudit = Omit<AuditRow, 'changes'> & { changes: string | null; changesLength: number | string }

export const showAudit = ({ changes, changesLength, ...row }: ListedAudit): AuditEntry => ({
  ...row,
  at: iso(row.at),
  changes: auditJson.changes({ id: row.id, changes: changes ?? shortenedText(Number(changesLength)) }),
})

export const auditList = createListResponse(showAudit)

// Queries for other modules. Unexecuted queries are subqueries for their statements.

/** Members of an organisation, as a subquery, except those who lack a second factor that it requires. */
export const membersOf = (db: Db, organizationId: string) =>
  db
    .selectFrom('members')
    .innerJoin('organizations', 'organizations.id', 'members.organizationId')
    .leftJoin('totpFactors', 'totpFactors.userId', 'members.userId')
    .select(['members.userId', 'members.organizationId'])
    .where('members.organizationId', '=', organizationId)
    .where((where) =>
      where.or([where('organizations.requireTwoFactor', '=', 0), where('totpFactors.confirmedAt', 'is not', null)]),
    )

/** Organisation names by id, as a subquery. */
export const organizationNames = (db: Db) => db.selectFrom('organizations').select(['organizations.id', 'organizations.name'])

export const findOrganizationName = async (db: Db, id: string): Promise<string | undefined> =>
  (await organizationNames(db).where('organizations.id', '=', id).executeTakeFirst())?.name
