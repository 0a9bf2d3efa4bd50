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
      ['project:write', 'Create, deploy and change projects, their variables and domains; list and add backup policies'],
      ['project:admin', 'Delete projects, environments and volumes, run commands, change access and clone credentials, transfer'],
      ['project:deployment:list', 'List deployments'],
    ],
  },
  {
    title: 'Backups',
    scopes: [
      ['backup_destination:list', 'List destinations'],
      ['backup_destination:read', 'Read one destination'],
      ['backup_destination:write', 'Add, change and test destinations'],
      ['backup_destination:admin', 'Delete destinations'],
      ['backup_destination:backup_policy:write', 'Change and delete policies, start backup runs'],
      ['backup_destination:backup_run:read', 'List and read backup runs'],
      ['backup_destination:backup_run:write', 'Cancel and protect backup runs, stage restores'],
      ['backup_destination:backup_restore:read', 'Read restores and their changes'],
      ['backup_destination:backup_restore:write', 'Apply and cancel restores'],
    ],
  },
  {
    title: 'Git host',
    scopes: [
      ['gitprovider:list', 'List repositories, branches, files and webhooks'],
      ['gitprovider:read', 'Read connections, one repository or file, and create clone tokens'],
      ['gitprovider:write', 'Connect a git host, create repositories, register webhooks'],
      ['gitprovider:admin', 'Delete repositories, remove webhooks, set up and disconnect a git host'],
    ],
  },
  {
    title: 'Servers and cloud',
    scopes: [
      ['server:list', 'List servers'],
      ['server:read', 'Read one server'],
      ['server:write', 'Add, change, check and scan servers, adopt their services'],
      ['server:admin', 'Remove servers'],
      ['cloud:read', 'Read the link to the cloud'],
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
      ['organization:read', 'Read the organisation and its quotas, and the state of the instance'],
      ['organization:write', 'Create organisations, manage registry logins'],
      ['organization:admin', 'Change the organisation and its quotas, clean up the build storage, back up the instance'],
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
