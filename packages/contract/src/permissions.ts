/** Every permission tag that a route may ask for, in the spec's spelling. */
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

/** How far a person may go on one object. */
export const levels = ['read', 'write', 'admin'] as const
export type Level = (typeof levels)[number]

export const reaches = (have: Level, need: Level): boolean => levels.indexOf(have) >= levels.indexOf(need)

export const levelOfRole: Record<Role, Level> = { owner: 'admin', admin: 'admin', member: 'write', viewer: 'read' }

/** Tags that ask only for membership of the active organisation: a person's own channels, feed and tokens. */
const membershipOnly = (tag: Permission) => tag.startsWith('notifications:') || tag.startsWith('token:')

const action = (tag: Permission) => tag.slice(tag.lastIndexOf(':') + 1)
const isRead = (tag: Permission) => action(tag) === 'read' || action(tag) === 'list'

const grantedBy: Record<Role, (tag: Permission) => boolean> = {
  owner: () => true,
  admin: (tag) => tag !== 'organization:delete',
  member: (tag) => membershipOnly(tag) || isRead(tag) || (action(tag) === 'write' && tag !== 'server:write'),
  viewer: (tag) => membershipOnly(tag) || isRead(tag),
}

const tagsOfRole = new Map<Role, ReadonlySet<Permission>>(
  roles.map((role) => [role, new Set(permissions.filter(grantedBy[role]))]),
)

export const tagsOf = (role: Role): ReadonlySet<Permission> => tagsOfRole.get(role)!

/** Role and scopes of a caller. `scopes` null: all that the role has. */
export interface Rights {
  role: Role
  scopes: ReadonlySet<string> | null
}

/** Whether the caller has a tag: role and scopes are judged together, wherever either is asked. */
export const holds = ({ role, scopes }: Rights, tag: Permission): boolean =>
  tagsOf(role).has(tag) && (scopes === null || scopes.has(tag))

/** The level on an object that a tag speaks of, so that a grant on one project can stand in for a role. */
export function levelOfTag(tag: Permission): Level {
  if (isRead(tag)) return 'read'
  return action(tag) === 'write' ? 'write' : 'admin'
}
