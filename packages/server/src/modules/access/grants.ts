import type { Level, Role } from '@berth/contract'
import type { Db } from '../../platform/db/schema.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import { Failure, refuse } from '../../platform/failure.ts'
import type { AccessDeps } from './deps.ts'
import { refuseSecondDeployer } from './single-user.ts'
import { findMembership, findUserByEmail } from './store.ts'

/** Called when the project is deleted. */
export const deleteGrants = (db: Db, projectId: string): Promise<unknown> =>
  db.deleteFrom('grants').where('projectId', '=', projectId).execute()

/** An exported grant of a transferred project. It names the user by e-mail address, because ids differ between instances. */
export interface TransferredGrant {
  email: string
  level: Level
}

export const grantsOf = (db: Db, projectId: string): Promise<TransferredGrant[]> =>
  db
    .selectFrom('grants')
    .innerJoin('users', 'users.id', 'grants.userId')
    .select(['users.email', 'grants.level'])
    .where('grants.projectId', '=', projectId)
    .orderBy('users.email')
    .execute()

/** Replaces the grants of a project with imported ones. Returns those that do not apply in this organisation, with the reason. */
export async function replaceGrants(
  { id: projectId, organizationId }: Pick<ProjectRow, 'id' | 'organizationId'>,
  grants: readonly TransferredGrant[],
  db: Db,
  deps: Pick<AccessDeps, 'clock' | 'isSingleUser'>,
): Promise<(TransferredGrant & { reason: string })[]> {
  await deleteGrants(db, projectId)
  const refused = []
  for (const grant of grants) {
    const { email, level } = grant
    const user = await findUserByEmail(db, email)
    const member = user && (await findMembership(db, user.id, organizationId))
    const reason = member ? refusalOf(level, member.role, deps) : 'is not a member of the organisation'
    if (reason) refused.push({ ...grant, reason })
    else if (user) {
      const row = { projectId, organizationId, userId: user.id, level, updatedAt: deps.clock.now().getTime() }
      await db
        .insertInto('grants')
        .values(row)
        .onConflict((conflict) => conflict.columns(['projectId', 'userId']).doUpdateSet({ level }))
        .execute()
    }
  }
  return refused
}

function refusalOf(level: Level, role: Role, deps: Pick<AccessDeps, 'isSingleUser'>): string | null {
  if (role === 'owner') return 'is an owner, whose level is always admin'
  try {
    refuseSecondDeployer(level, role, deps)
    return null
  } catch (error) {
    if (error instanceof Failure) return error.message
    throw error
  }
}

/** `null` removes the grant: the level of the user's role applies again. */
export async function setGrant(
  project: ProjectRow,
  { userId, level }: { userId: string; level: Level | null },
  deps: AccessDeps,
) {
  const { db } = deps.database
  const member = await findMembership(db, userId, project.organizationId)
  if (!member) return refuse('userId', 'is not a member of this organisation')
  if (member.role === 'owner') return refuse('userId', 'is an owner, whose level is always admin')
  if (level === null) {
    await db.deleteFrom('grants').where('projectId', '=', project.id).where('userId', '=', userId).execute()
    return
  }
  refuseSecondDeployer(level, member.role, deps)
  const updatedAt = deps.clock.now().getTime()
  await db
    .insertInto('grants')
    .values({ projectId: project.id, organizationId: project.organizationId, userId, level, updatedAt })
    .onConflict((conflict) => conflict.columns(['projectId', 'userId']).doUpdateSet({ level, updatedAt }))
    .execute()
}
