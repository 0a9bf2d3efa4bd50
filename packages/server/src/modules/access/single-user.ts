import type { Level, Role } from '@berth/contract'
import type { Db } from '../../platform/db/schema.ts'
import { fail } from '../../platform/failure.ts'
import type { AccessDeps } from './deps.ts'

/** Roles that may deploy. Without isolation, a user who deploys can do everything that Berth's own OS user can. */
const mayDeploy = (role: Role) => role !== 'viewer'

const howTo =
  'Install bubblewrap, use Docker or run Berth as root. If all users trust each other, set BERTH_TRUST_EVERYONE=true instead.'

export function refuseSecondUser(role: Role, { isSingleUser }: Pick<AccessDeps, 'isSingleUser'>): void {
  if (isSingleUser && mayDeploy(role))
    fail('no_isolation', {
      message: `This machine does not isolate projects: a second user who can deploy could read every project and the keys of the instance. ${howTo}`,
      field: 'role',
    })
}

/** A viewer with a higher level on one project counts as a second deployer. */
export function refuseSecondDeployer(level: Level, role: Role, deps: Pick<AccessDeps, 'isSingleUser'>): void {
  if (level !== 'read' && !mayDeploy(role)) refuseSecondUser('member', deps)
}

export function refuseSecondOrganization({ isSingleUser }: AccessDeps): void {
  if (isSingleUser)
    fail('no_isolation', {
      message: `This machine does not isolate projects: a second organisation could read the projects of the first. ${howTo}`,
    })
}

/** The reason why the instance must not run its projects, checked at startup; null when it may. */
export async function tooManyUsers(db: Db): Promise<string | null> {
  const { people } = await db
    .selectFrom('members')
    .select(({ fn }) => fn.count<number>('userId').distinct().as('people'))
    .where('role', '!=', 'viewer')
    .executeTakeFirstOrThrow()
  const { organizations } = await db
    .selectFrom('organizations')
    .select(({ fn }) => fn.countAll<number>().as('organizations'))
    .executeTakeFirstOrThrow()
  if (Number(people) <= 1 && Number(organizations) <= 1) return null
  return `${people} users in ${organizations} organisations can deploy here, but this machine does not isolate their projects. ${howTo}`
}
