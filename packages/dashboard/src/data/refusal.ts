import { contract, isLevelAtLeast, type Level, levelOfRole, type Permission, type Project, type Role } from '@berth/contract'
import { useRead } from './read.ts'
import { useSession } from './session.ts'

/** Why the user does not have the permission, as a message; undefined if the user has it. */
export function useRefusal(permission: Permission): string | undefined {
  const { data: session } = useSession()
  if (!session || session.permissions.includes(permission)) return undefined
  return refusalText(session.role)
}

/** Why the user cannot act on the machine itself; undefined for operators, and if the instance is too old to report it. */
export function useOperatorRefusal(): string | undefined {
  const { data: session } = useSession()
  return session?.operator === false ? operatorRefusal : undefined
}

const operatorRefusal =
  'Only an operator of the instance can do this: an owner or admin of the organisation created at set-up. Ask one of them.'

/** Why the user does not have this level on a project. A grant on the project replaces the level of the user's role. */
export function useProjectRefusal(projectId: Project['id'], need: Level): string | undefined {
  const { data: session } = useSession()
  const { data: grants } = useRead(contract.access.listGrants, { params: { id: projectId }, query: {} })
  if (!session) return undefined
  const granted = grants?.find(({ userId }) => userId === session.user.id)?.level
  const level = granted ?? levelOfRole[session.role]
  if (isLevelAtLeast(level, need)) return undefined
  return granted ? `Your ${granted} access to this project is not enough. Ask an owner or admin.` : refusalText(session.role)
}

/** Admins lack only what owners have. */
const refusalText = (role: Role) => `Your role, ${role}, cannot do this. Ask an owner${role === 'admin' ? '' : ' or admin'}.`
