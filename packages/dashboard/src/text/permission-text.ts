import type { Permission } from '@berth/contract'

interface Group {
  title: string
  scopes: readonly (readonly [scope: Permission, allows: string])[]
}

/** Every scope with what it allows, grouped by subject. */
export const permissionGroups: readonly Group[] = [
  {
    title: 'Projects',
    scopes: [
      ['project:list', 'List projects'],
      ['project:read', 'Read one project: settings, logs, requests, metrics, names of variables'],
      ['project:write', 'Create, deploy and change projects, their variables and domains'],
      ['project:admin', 'Delete projects and environments, change access and clone credentials'],
      ['project:deployment:list', 'List deployments'],
    ],
  },
  {
    title: 'Backups',
    scopes: [
      ['backup_destination:list', 'List destinations and policies'],
      ['backup_destination:read', 'Read one destination or policy'],
      ['backup_destination:write', 'Add, change and test destinations'],
      ['backup_destination:admin', 'Delete destinations'],
      ['backup_destination:backup_policy:write', 'Add, change and delete policies'],
      ['backup_destination:backup_run:read', 'List and read backup runs'],
      ['backup_destination:backup_run:write', 'Start, cancel and protect backup runs'],
      ['backup_destination:backup_restore:read', 'Read restores and their changes'],
      ['backup_destination:backup_restore:write', 'Stage and apply restores'],
    ],
  },
  {
    title: 'Git host',
    scopes: [
      ['gitprovider:list', 'List connections, repositories and branches'],
      ['gitprovider:read', 'Read one connection or repository'],
      ['gitprovider:write', 'Connect a git host, register webhooks'],
      ['gitprovider:admin', 'Create and delete repositories, disconnect a git host'],
    ],
  },
  {
    title: 'Servers and cloud',
    scopes: [
      ['server:list', 'List servers'],
      ['server:read', 'Read one server'],
      ['server:write', 'Add, change, check and scan servers'],
      ['server:admin', 'Remove servers, adopt their services'],
      ['cloud:read', 'Read transfers and the link to the cloud'],
      ['cloud:admin', 'Link the cloud, remove the link'],
    ],
  },
  {
    title: 'Notifications and tokens',
    scopes: [
      ['notifications:read', 'Read your notifications and channels'],
      ['notifications:write', 'Change your channels and subscriptions'],
      ['notifications:admin', 'Change the defaults of the organisation'],
      ['token:list', 'List your access tokens'],
      ['token:write', 'Create and revoke your access tokens'],
    ],
  },
  {
    title: 'Organisation',
    scopes: [
      ['organization:list', 'List your organisations'],
      ['organization:read', 'Read the organisation and its quotas'],
      ['organization:write', 'Create organisations, manage registry logins'],
      ['organization:admin', 'Rename the organisation, set quotas'],
      ['organization:delete', 'Delete the organisation'],
      ['member:list', 'List members'],
      ['member:admin', 'Change roles, remove members'],
      ['invitation:list', 'List invitations'],
      ['invitation:admin', 'Invite users, revoke invitations'],
      ['audit:list', 'Read the audit log'],
    ],
  },
]

/** Scopes that are usually needed together with the chosen ones. */
export function scopeHints(chosen: readonly string[]): string[] {
  const has = (scope: Permission) => chosen.includes(scope)
  return [
    has('project:read') &&
      !has('project:list') &&
      'project:read alone cannot list projects, so names and slugs are not found. Add project:list.',
    (has('project:write') || has('project:admin')) &&
      !has('project:read') &&
      'Without project:read, a client cannot read the project that it changes.',
    has('project:write') &&
      !has('project:deployment:list') &&
      'Without project:deployment:list, a client cannot list deployments, for example to roll back.',
    has('backup_destination:backup_restore:write') &&
      !has('backup_destination:backup_restore:read') &&
      'Without backup_destination:backup_restore:read, a client cannot see what a restore changes.',
  ].filter((hint) => hint !== false)
}
