import { canTransition, type Deployment, deploymentTransitions, settledDeployment } from '@berth/contract'

/** Why a deployment cannot be redeployed or rolled back to, as text; undefined if it can. */
type Refusal = string | undefined
type State = Pick<Deployment, 'status'>

export const canCancel = ({ status }: State): boolean => canTransition(deploymentTransitions, status, 'cancelled')

export const redeployRefusal = ({ status }: State): Refusal =>
  settledDeployment.has(status) ? undefined : `It is still ${status}. Wait until it ends, or cancel it.`

/**
 * The record does not tell whether a folder's artifact is still kept; if it is not, the server rejects the rollback with a reason.
 */
export const rollbackRefusal = ({ status }: State): Refusal =>
  status === 'superseded' ? undefined : `You can roll back only to a version that was live. This one is ${status}.`

/** The changes that a rollback would make, shown before it. */
export function rollbackChanges(target: Deployment, live: Deployment | undefined): string[] {
  const version = ({ number, commit }: Deployment) => `#${number}${commit ? ` (${commit.sha.slice(0, 7)})` : ''}`
  return [
    live ? `Version ${version(target)} replaces version ${version(live)}.` : `Version ${version(target)} starts.`,
    'It runs with the variables and settings of that deployment, not with the current ones.',
    'No build: the stored artifact is started and goes live after its health check passes. Volumes keep their data.',
  ]
}
