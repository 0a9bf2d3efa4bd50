import { lazyRouteComponent } from '@tanstack/react-router'

const pauseMs = 400

/** A page's file that does not come at once is asked for once more: networks change under a browser. */
const lazy = <Name extends string>(load: () => Promise<Record<Name, () => React.ReactNode>>, name: Name) =>
  lazyRouteComponent(
    () => load().catch(() => new Promise((resolve) => setTimeout(resolve, pauseMs)).then(load)) as Promise<Record<string, never>>,
    name,
  )

/** Every address of the dashboard for those who have signed in; each page is loaded when it is first asked for. */
export const pages = {
  '/': lazy(() => import('./projects/projects-page.tsx'), 'ProjectsPage'),
  '/new': lazy(() => import('./new-project/new-project-page.tsx'), 'NewProjectPage'),
  '/deployments': lazy(() => import('./deployments/all-deployments-page.tsx'), 'AllDeploymentsPage'),
  '/backups': lazy(() => import('./backups/destinations-page.tsx'), 'DestinationsPage'),
  '/notifications': lazy(() => import('./notifications/notifications-page.tsx'), 'NotificationsPage'),
  '/notifications/settings': lazy(() => import('./notifications/notification-settings-page.tsx'), 'NotificationSettingsPage'),
  '/git': lazy(() => import('./git/git-host-page.tsx'), 'GitHostPage'),
  '/servers': lazy(() => import('./servers/servers-page.tsx'), 'ServersPage'),
  '/servers/$id': lazy(() => import('./servers/server-page.tsx'), 'ServerPage'),
  '/cloud': lazy(() => import('./cloud/cloud-page.tsx'), 'CloudPage'),
  '/organization/members': lazy(() => import('./organization/members-page.tsx'), 'MembersPage'),
  '/organization/invitations': lazy(() => import('./organization/invitations-page.tsx'), 'InvitationsPage'),
  '/organization/tokens': lazy(() => import('./organization/tokens-page.tsx'), 'TokensPage'),
  '/organization/audit': lazy(() => import('./organization/audit-page.tsx'), 'AuditPage'),
  '/organization/settings': lazy(() => import('./organization/organization-settings-page.tsx'), 'OrganizationSettingsPage'),
  '/account': lazy(() => import('./account/account-page.tsx'), 'AccountPage'),
  '/projects/$id': lazy(() => import('./project/overview/overview-page.tsx'), 'OverviewPage'),
  '/projects/$id/deployments': lazy(() => import('./project/deployments/deployments-page.tsx'), 'DeploymentsPage'),
  '/projects/$id/deployments/$deploymentId': lazy(() => import('./project/deployments/deployment-page.tsx'), 'DeploymentPage'),
  '/projects/$id/logs': lazy(() => import('./project/logs/logs-page.tsx'), 'LogsPage'),
  '/projects/$id/requests': lazy(() => import('./project/requests/requests-page.tsx'), 'RequestsPage'),
  '/projects/$id/env': lazy(() => import('./project/env/env-page.tsx'), 'EnvPage'),
  '/projects/$id/domains': lazy(() => import('./project/domains/domains-page.tsx'), 'DomainsPage'),
  '/projects/$id/rules': lazy(() => import('./project/rules/rules-page.tsx'), 'RulesPage'),
  '/projects/$id/git': lazy(() => import('./project/git/git-page.tsx'), 'GitPage'),
  '/projects/$id/resources': lazy(() => import('./project/resources/resources-page.tsx'), 'ResourcesPage'),
  '/projects/$id/backups': lazy(() => import('./project/backups/backups-page.tsx'), 'BackupsPage'),
  '/projects/$id/environments': lazy(() => import('./project/environments/environments-page.tsx'), 'EnvironmentsPage'),
  '/projects/$id/settings': lazy(() => import('./project/settings/settings-page.tsx'), 'SettingsPage'),
}
