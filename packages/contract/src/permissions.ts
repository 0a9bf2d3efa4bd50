/** Every permission tag that a route may require, as the spec names them. */
export const permissions = [
  'project:list',
  'project:read',
  'project:write',
  'project:admin',
  'project:deployment:list',
  'gitprovider:list',
  'gitprovider:read',
  'gitprovider:write',
  'gitprovider:admin',
  'notifications:read',
  'notifications:write',
  'notifications:admin',
  'backup_destination:list',
  'backup_destination:read',
  'backup_destination:write',
  'backup_destination:admin',
  'backup_destination:backup_policy:write',
  'backup_destination:backup_run:read',
  'backup_destination:backup_run:write',
  'backup_destination:backup_restore:read',
  'backup_destination:backup_restore:write',
  'server:list',
  'server:read',
  'server:write',
  'server:admin',
  'cloud:read',
  'cloud:admin',
  'token:list',
  'token:write',
  'organization:list',
  'organization:read',
  'organization:write',
  'organization:admin',
  'organization:delete',
  'member:list',
  'member:admin',
  'invitation:list',
  'invitation:admin',
  'audit:list',
] as const

export type Permission = (typeof permissions)[number]

export const roles = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

/** Access levels of a user on one object, in ascending order. */
export const levels = ['read', 'write', 'admin'] as const
export type Level = (typeof levels)[number]

export const isLevelAtLeast = (actual: Level, required: Level): boolean => levels.indexOf(actual) >= levels.indexOf(required)

export const levelOfRole: Record<Role, Level> = { owner: 'admin', admin: 'admin', member: 'write', viewer: 'read' }

/** Tags that require only membership of the active organisation: a user's own channels, feed and tokens. */
const needsOnlyMembership = (tag: Permission) => tag.startsWith('notifications:') || tag.startsWith('token:')

const action = (tag: Permission) => tag.slice(tag.lastIndexOf(':') + 1)
const isRead = (tag: Permission) => action(tag) === 'read' || action(tag) === 'list'

const grantedBy: Record<Role, (tag: Permission) => boolean> = {
  owner: () => true,
  admin: (tag) => tag !== 'organization:delete',
  member: (tag) => needsOnlyMembership(tag) || isRead(tag) || (action(tag) === 'write' && tag !== 'server:write'),
  viewer: (tag) => needsOnlyMembership(tag) || isRead(tag),
}

const tagsOfRole = new Map<Role, ReadonlySet<Permission>>(
  roles.map((role) => [role, new Set(permissions.filter(grantedBy[role]))]),
)

export const tagsOf = (role: Role): ReadonlySet<Permission> => tagsOfRole.get(role)!

/** Role and scopes of a caller. `scopes` null: all permissions of the role. */
export interface Rights {
  role: Role
  scopes: ReadonlySet<string> | null
}

/** Whether the caller has a tag: both the role and the scopes must include it. */
export const hasPermission = ({ role, scopes }: Rights, tag: Permission): boolean =>
  tagsOf(role).has(tag) && (scopes === null || scopes.has(tag))

/** The level that a tag requires on an object. A grant on one project may give it instead of the role. */
export function levelOfTag(tag: Permission): Level {
  if (isRead(tag)) return 'read'
  return action(tag) === 'write' ? 'write' : 'admin'
}
