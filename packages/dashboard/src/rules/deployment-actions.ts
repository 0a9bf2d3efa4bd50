import { canMove, type Deployment, deploymentMoves, settledDeployment } from '@berth/contract'

/** Why a deployment cannot be cancelled, redeployed or rolled back to, as text; undefined if it can. */
type Refusal = string | undefined
type State = Pick<Deployment, 'status'>

export const cancelRefusal = ({ status }: State): Refusal =>
  canMove(deploymentMoves, status, 'cancelled') ? undefined : `It is ${status}: there is nothing left to cancel.`

export const redeployRefusal = ({ status }: State): Refusal =>
  settledDeployment.has(status) ? undefined : `It is still ${status}: wait until it is over, or cancel it.`

/**
 * The record does not tell whether a folder's artifact is still kept; if it is not, the server rejects the rollback with a reason.
 */
export function rollbackRefusal({ status }: State): Refusal {
  if (status === 'live') return 'This is the version that serves now.'
  return status === 'superseded' ? undefined : `Only a version that was live can be rolled back to; this one is ${status}.`
}

/** The changes that a rollback would make, shown before it. */
export function rollbackChanges(target: Deployment, live: Deployment | undefined): string[] {
  const version = ({ number, commit }: Deployment) => `#${number}${commit ? ` (${commit.sha.slice(0, 7)})` : ''}`
  return [
    live ? `Version ${version(live)} stops serving, version ${version(target)} starts.` : `Version ${version(target)} starts.`,
    'It runs with the variables and settings of its own time, not with those of today.',
    'Nothing is built: its kept image is started, checked, and only then takes over. Volumes keep their data.',
  ]
}
