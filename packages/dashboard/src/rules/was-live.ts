import type { Deployment, Project } from '@berth/contract'

/** Whether a version of the project was ever live. An address is a link only then: before that it leads nowhere. */
export function wasLive({ status, statusReason }: Pick<Project, 'status' | 'statusReason'>): boolean {
  if (status === 'created' || status === 'failed') return false
  // While a later deployment is in progress, the reason names the version that is still live.
  return !inProgress.includes(status) || !!statusReason
}

const inProgress: readonly Project['status'][] = ['queued', 'building', 'deploying']

/** Whether the environment has a live version. `deployments` must contain all live deployments of the project. */
export const wasEnvironmentLive = (
  environment: string,
  deployments: readonly Pick<Deployment, 'environment' | 'status'>[],
): boolean => deployments.some((one) => one.environment === environment && one.status === 'live')
