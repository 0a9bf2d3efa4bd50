import { lazyPart } from '../components/lazy-part.ts'
import { ProjectsPage } from './projects/projects-page.tsx'

/** The pages for signed-in users, by path. All except the first are loaded on demand. */
export const pages = {
  '/': ProjectsPage,
  '/new': lazyPart(() => import('./new-project/new-project-page.tsx'), 'NewProjectPage'),
  '/deployments': lazyPart(() => import('./deployments/all-deployments-page.tsx'), 'AllDeploymentsPage'),
  '/backups': lazyPart(() => import('./backups/destinations-page.tsx'), 'DestinationsPage'),
  '/notifications': lazyPart(() => import('./notifications/notifications-page.tsx'), 'NotificationsPage'),
  '/notifications/settings': lazyPart(() => import('./notifications/notification-settings-page.tsx'), 'NotificationSettingsPage'),
  '/git': lazyPart(() => import('./git/git-host-page.tsx'), 'GitHostPage'),
  '/servers': lazyPart(() => import('./servers/servers-page.tsx'), 'ServersPage'),
  '/servers/$id': lazyPart(() => import('./servers/server-page.tsx'), 'ServerPage'),
  '/cloud': lazyPart(() => import('./cloud/cloud-page.tsx'), 'CloudPage'),
  '/organization/members': lazyPart(() => import('./organization/members-page.tsx'), 'MembersPage'),
  '/organization/invitations': lazyPart(() => import('./organization/invitations-page.tsx'), 'InvitationsPage'),
  '/organization/tokens': lazyPart(() => import('./organization/tokens-page.tsx'), 'TokensPage'),
  '/organization/audit': lazyPart(() => import('./organization/audit-page.tsx'), 'AuditPage'),
  '/organization/settings': lazyPart(() => import('./organization/organization-settings-page.tsx'), 'OrganizationSettingsPage'),
  '/account': lazyPart(() => import('./account/account-page.tsx'), 'AccountPage'),
  '/projects/$id': lazyPart(() => import('./project/overview/overview-page.tsx'), 'OverviewPage'),
  '/projects/$id/deployments': lazyPart(() => import('./project/deployments/deployments-page.tsx'), 'DeploymentsPage'),
  '/projects/$id/deployments/$deploymentId': lazyPart(
    () => import('./project/deployments/deployment-page.tsx'),
    'DeploymentPage',
  ),
  '/projects/$id/logs': lazyPart(() => import('./project/logs/logs-page.tsx'), 'LogsPage'),
  '/projects/$id/requests': lazyPart(() => import('./project/requests/requests-page.tsx'), 'RequestsPage'),
  '/projects/$id/env': lazyPart(() => import('./project/env/env-page.tsx'), 'EnvPage'),
  '/projects/$id/domains': lazyPart(() => import('./project/domains/domains-page.tsx'), 'DomainsPage'),
  '/projects/$id/rules': lazyPart(() => import('./project/rules/rules-page.tsx'), 'RulesPage'),
  '/projects/$id/git': lazyPart(() => import('./project/git/git-page.tsx'), 'GitPage'),
  '/projects/$id/resources': lazyPart(() => import('./project/resources/resources-page.tsx'), 'ResourcesPage'),
  '/projects/$id/backups': lazyPart(() => import('./project/backups/backups-page.tsx'), 'BackupsPage'),
  '/projects/$id/tasks': lazyPart(() => import('./project/tasks/tasks-page.tsx'), 'TasksPage'),
  '/projects/$id/environments': lazyPart(() => import('./project/environments/environments-page.tsx'), 'EnvironmentsPage'),
  '/projects/$id/settings': lazyPart(() => import('./project/settings/settings-page.tsx'), 'SettingsPage'),
}
