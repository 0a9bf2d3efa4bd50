import type { Role } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { MemberRow } from '../../platform/db/tables/access.ts'
import { fail } from '../../platform/failure.ts'
import type { AccessDeps } from './deps.ts'
import { refuseSecondUser } from './single-user.ts'
import { countOwners, findMemberWithUser, showMember } from './store.ts'

export async function changeRole(member: MemberRow, role: Role, caller: Caller, deps: AccessDeps) {
  const { database } = deps
  if (role === 'owner' || member.role === 'owner') requireOwner(caller)
  if (member.role === 'viewer') refuseSecondUser(role, deps)
  await database.transaction(async ({ db }) => {
    if (member.role === 'owner' && role !== 'owner') await requireOtherOwner(db, member.organizationId)
    await ofMember(db.updateTable('members').set({ role }), member).execute()
  })
  return showMember(caller)(await findMemberWithUser(database.db, member.organizationId, member.userId))
}

/** Removes a member with their tokens and grants in this organisation. Sessions stay valid for the user's other organisations. */
export async function removeMember(member: MemberRow, caller: Caller, { database }: AccessDeps): Promise<void> {
  if (member.role === 'owner') requireOwner(caller)
  await database.transaction(async ({ db }) => {
    if (member.role === 'owner') await requireOtherOwner(db, member.organizationId)
    await ofMember(db.deleteFrom('tokens'), member).execute()
    await ofMember(db.deleteFrom('grants'), member).execute()
    await ofMember(db.deleteFrom('members'), member).execute()
    await db
      .updateTable('users')
      .set({ defaultOrganizationId: null })
      .where('id', '=', member.userId)
      .where('defaultOrganizationId', '=', member.organizationId)
      .execute()
  })
}

function requireOwner(caller: Caller): void {
  if (caller.role !== 'owner') fail('forbidden', { message: 'Only an owner can add or remove owners' })
}

async function requireOtherOwner(db: Db, organizationId: string): Promise<void> {
  // Two owners who demote each other at once would leave none: updating the organisation's row serializes them.
  await db
    .updateTable('organizations')
    .set(({ ref }) => ({ name: ref('name') }))
    .where('id', '=', organizationId)
    .execute()
  if ((await countOwners(db, organizationId)) < 2) fail('last_owner')
}

interface Filterable<Q> {
  where(column: 'organizationId' | 'userId', operator: '=', value: string): Q
}

/** Limits a query to the rows of one member. */
const ofMember = <Q extends Filterable<Q>>(query: Q, { organizationId, userId }: MemberRow): Q =>
  query.where('organizationId', '=', organizationId).where('userId', '=', userId)
