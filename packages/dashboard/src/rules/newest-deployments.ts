import type { Deployment } from '@berth/contract'

/** Each project's newest deployment; `deployments` must be sorted newest first. */
export function newestOfEach(deployments: readonly Deployment[]): ReadonlyMap<string, Deployment> {
  const newest = new Map<string, Deployment>()
  for (const one of deployments) if (!newest.has(one.projectId)) newest.set(one.projectId, one)
  return newest
}

/** The verb before the time of a project's newest deployment; without one, the time is that of the project. */
export const deploymentVerb = (deployment: Pick<Deployment, 'status'> | undefined): string => {
  if (!deployment) return 'Created'
  return deployment.status === 'failed' ? 'Failed' : deployment.status === 'cancelled' ? 'Cancelled' : 'Deployed'
}

/** A short description of a deployment: the commit's first line, or else its trigger. */
export const deploymentText = ({ trigger, commit }: Pick<Deployment, 'trigger' | 'commit'>): string =>
  commit?.message?.split('\n')[0] || (commit ? commit.sha.slice(0, 7) : `${triggerText[trigger]} deployment`)

export const triggerText: Record<Deployment['trigger'], string> = {
  manual: 'Manual',
  push: 'Push',
  pull_request: 'Pull request',
  rollback: 'Rollback',
  redeploy: 'Redeploy',
  restore: 'Restore',
  transfer: 'Transfer',
}
