import { type DeploymentStatus, type ProjectStatus, settledDeployment } from '@berth/contract'
import { iso } from '../../../platform/db/columns.ts'
import type { ProjectOperationRow } from '../../../platform/db/tables/projects.ts'
import type { DeploymentSummary, RunningState } from '../project-ports.ts'

export interface StatusFacts {
  enabled: boolean
  isBeingDeleted: boolean
  /** The restore or move that is under way. */
  operation: Pick<ProjectOperationRow, 'kind' | 'phase' | 'startedAt'> | undefined
  /** Deployments of production; undefined: never deployed. */
  deployments: DeploymentSummary | undefined
  running: RunningState | undefined
}

export interface StatusTexts {
  status: ProjectStatus
  statusReason: string | null
}

/** Derives the project's status from current facts; no other code decides it. */
export function statusOf(facts: StatusFacts): StatusTexts {
  if (facts.isBeingDeleted) return statusTexts('deleting', 'The project is being deleted')
  if (!facts.operation) return statusWithoutOperation(facts)
  const { kind, phase, startedAt } = facts.operation
  const reason = `The project is being ${kind === 'move' ? 'transferred' : 'restored'} since ${iso(startedAt)}`
  if (phase === 'stopped' || phase === 'undoing') return statusTexts('stopped', `${reason}. It is stopped until that ends.`)
  return statusTexts(statusWithoutOperation(facts).status, reason)
}

/** The status when no restore or move is under way. */
function statusWithoutOperation({ enabled, deployments, running }: StatusFacts): StatusTexts {
  if (!enabled) return statusTexts('disabled', 'The project is disabled: it is offline, and deployments are paused')
  if (!deployments) return statusTexts('created', 'Not deployed yet')
  const { newest, live } = deployments
  const stillLive = live && live.id !== newest.id ? live : null
  if (isInProgress(newest.status))
    return statusTexts(
      newest.status,
      stillLive && `Deployment ${newest.number} is running; deployment ${stillLive.number} is still live`,
    )
  if (live) return runningStatus(running, stillLive && `${endText(newest)}; deployment ${stillLive.number} is still live`)
  if (newest.status === 'failed') return statusTexts('failed', endText(newest))
  if (newest.status === 'cancelled') return statusTexts('created', `${endText(newest)} before anything was live`)
  return statusTexts('stopped', 'No deployment is live')
}

function runningStatus(running: RunningState | undefined, note: string | null): StatusTexts {
  if (!running) return statusTexts('stopped', note ?? 'No instance is running')
  const status = running.state === 'running' ? 'live' : running.state
  return statusTexts(status, running.reason ?? note)
}

function endText({ number, status, error }: DeploymentSummary['newest']): string {
  if (status !== 'failed') return `Deployment ${number} was ${status}`
  return error ? `Deployment ${number} failed: ${error}` : `Deployment ${number} failed`
}

type InProgressStatus = Extract<DeploymentStatus, 'queued' | 'building' | 'deploying'>

const isInProgress = (status: DeploymentStatus): status is InProgressStatus => !settledDeployment.has(status)

const statusTexts = (status: ProjectStatus, statusReason: string | null): StatusTexts => ({ status, statusReason })
