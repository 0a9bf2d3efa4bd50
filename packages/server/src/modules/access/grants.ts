import type { Level } from '@berth/contract'
import type { Db } from '../../platform/db/schema.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import { refuse } from '../../platform/failure.ts'
import type { AccessDeps } from './deps.ts'
import { refuseSecondDeployer } from './one-person.ts'
import { findMembership } from './store.ts'

/** The project is gone. */
export const deleteGrants = (db: Db, projectId: string): Promise<unknown> =>
  db.deleteFrom('grants').where('projectId', '=', projectId).execute()

/** `null` goes back to the level of the person's role. */
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
