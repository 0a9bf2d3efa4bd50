import { lazyRouteComponent as lazy } from '@tanstack/react-router'

/** Every address of the dashboard for those who have signed in; each page is loaded when it is first asked for. */
export const pages = {
  '/': lazy(() => import('./projects/projects-page.tsx'), 'ProjectsPage'),
  '/new': lazy(() => import('./new-project/new-project-page.tsx'), 'NewProjectPage'),
  '/projects/$id': lazy(() => import('./project/overview/overview-page.tsx'), 'OverviewPage'),
  '/projects/$id/deployments': lazy(() => import('./project/deployments/deployments-page.tsx'), 'DeploymentsPage'),
  '/projects/$id/deployments/$deploymentId': lazy(() => import('./project/deployments/deployment-page.tsx'), 'DeploymentPage'),
  '/projects/$id/env': lazy(() => import('./project/env/env-page.tsx'), 'EnvPage'),
  '/projects/$id/settings': lazy(() => import('./project/settings/settings-page.tsx'), 'SettingsPage'),
}
