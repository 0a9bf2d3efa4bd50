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
  if (facts.isBeingDeleted) return report('deleting', 'The project is being deleted')
  if (!facts.operation) return settledStatus(facts)
  const { kind, phase, startedAt } = facts.operation
  const reason = `The project is being ${kind === 'move' ? 'transferred' : 'restored'} since ${iso(startedAt)}`
  if (phase === 'stopped' || phase === 'undoing') return report('stopped', `${reason}. It is stopped until that ends.`)
  return report(settledStatus(facts).status, reason)
}

/** The status when no restore or move is under way. */
function settledStatus({ enabled, deployments, running }: StatusFacts): StatusTexts {
  if (!enabled) return report('disabled', 'The project is disabled: it is offline, and deployments are paused')
  if (!deployments) return report('created', 'Not deployed yet')
  const { newest, live } = deployments
  const before = live && live.id !== newest.id ? live : null
  if (isUnderWay(newest.status))
    return report(newest.status, before && `Deployment ${newest.number} is running; deployment ${before.number} is still live`)
  if (live) return ofRunning(running, before && `${endOf(newest)}; deployment ${before.number} is still live`)
  if (newest.status === 'failed') return report('failed', endOf(newest))
  if (newest.status === 'cancelled') return report('created', `${endOf(newest)} before anything was live`)
  return report('stopped', 'No deployment is live')
}

function ofRunning(running: RunningState | undefined, note: string | null): StatusTexts {
  if (!running) return report('stopped', note ?? 'No instance is running')
  const status = running.state === 'running' ? 'live' : running.state
  return report(status, running.reason ?? note)
}

function endOf({ number, status, error }: DeploymentSummary['newest']): string {
  if (status !== 'failed') return `Deployment ${number} was ${status}`
  return error ? `Deployment ${number} failed: ${error}` : `Deployment ${number} failed`
}

type UnderWay = Extract<DeploymentStatus, 'queued' | 'building' | 'deploying'>

const isUnderWay = (status: DeploymentStatus): status is UnderWay => !settledDeployment.has(status)

const report = (status: ProjectStatus, statusReason: string | null): StatusTexts => ({ status, statusReason })
