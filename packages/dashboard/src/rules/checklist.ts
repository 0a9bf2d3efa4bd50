import type { Deployment, Project } from '@berth/contract'

export interface ChecklistItem {
  id: 'project' | 'domain' | 'backup' | 'instance' | 'member'
  title: string
  text: string
  to: string
  isDone: boolean
}

/** Null: the step is not for this user. */
type State = Record<ChecklistItem['id'], boolean | null>

const items: readonly Omit<ChecklistItem, 'isDone'>[] = [
  { id: 'project', title: 'Deploy a project', text: 'From a folder, a repository or an image.', to: '/new' },
  { id: 'domain', title: 'Connect your domain', text: 'On the Domains page of a project.', to: '/new' },
  {
    id: 'backup',
    title: 'Add a backup destination',
    text: 'Then add a policy on the Backups page of a project.',
    to: '/backups',
  },
  {
    id: 'instance',
    title: 'Back up the instance',
    text: 'Users, projects and settings, on a schedule.',
    to: '/backups',
  },
  {
    id: 'member',
    title: 'Invite a second user',
    text: 'So that you are not the only one with access.',
    to: '/organization/invitations',
  },
]

/** Whether a version of any project was live. `deployments` has none of projects in the cloud: for them, the status is checked. */
export const hasDeployed = (
  projects: readonly Pick<Project, 'status'>[],
  deployments: readonly Pick<Deployment, 'status'>[],
): boolean =>
  deployments.some(({ status }) => status === 'live' || status === 'superseded') ||
  projects.some(({ status }) => status === 'live' || status === 'sleeping')

/** Whether a connected domain of the project works: it is the current address, or has a certificate. */
export const hasWorkingDomain = ({ routes, url }: Pick<Project, 'routes' | 'url'>): boolean =>
  routes.some((route) => route.kind === 'custom' && (route.url === url || route.tls === 'active'))

/** The steps of a new instance; empty once all are done. A domain is connected on the page of `projectId`, the newest project. */
export function checklist(done: State, projectId?: string): ChecklistItem[] {
  const all = items.flatMap((item) => {
    const isDone = done[item.id]
    const to = item.id === 'domain' && projectId ? `/projects/${projectId}/domains` : item.to
    return isDone === null ? [] : [{ ...item, to, isDone }]
  })
  return all.every(({ isDone }) => isDone) ? [] : all
}
