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

export interface StatusWords {
  status: ProjectStatus
  statusReason: string | null
}

/** Derives the project's status from current facts; no other code decides it. */
export function statusOf(facts: StatusFacts): StatusWords {
  if (facts.isBeingDeleted) return say('deleting', 'The project is being deleted')
  if (!facts.operation) return settledStatus(facts)
  const { kind, phase, startedAt } = facts.operation
  const reason = `The project is being ${kind === 'move' ? 'transferred' : 'restored'} since ${iso(startedAt)}`
  if (phase === 'stopped' || phase === 'undoing') return say('stopped', `${reason}. It is stopped until that ends.`)
  return say(settledStatus(facts).status, reason)
}

/** The status when no restore or move is under way. */
function settledStatus({ enabled, deployments, running }: StatusFacts): StatusWords {
  if (!enabled) return say('disabled', 'The project is disabled: it is offline, and deployments are paused')
  if (!deployments) return say('created', 'Not deployed yet')
  const { newest, live } = deployments
  const before = live && live.id !== newest.id ? live : null
  if (isUnderWay(newest.status))
    return say(newest.status, before && `Deployment ${newest.number} is running; deployment ${before.number} is still live`)
  if (live) return ofRunning(running, before && `${endOf(newest)}; deployment ${before.number} is still live`)
  if (newest.status === 'failed') return say('failed', endOf(newest))
  if (newest.status === 'cancelled') return say('created', `${endOf(newest)} before anything was live`)
  return say('stopped', 'No deployment is live')
}

function ofRunning(running: RunningState | undefined, note: string | null): StatusWords {
  if (!running) return say('stopped', note ?? 'No instance is running')
  const status = running.state === 'running' ? 'live' : running.state
  return say(status, running.reason ?? note)
}

function endOf({ number, status, error }: DeploymentSummary['newest']): string {
  if (status !== 'failed') return `Deployment ${number} was ${status}`
  return error ? `Deployment ${number} failed: ${error}` : `Deployment ${number} failed`
}

type UnderWay = Extract<DeploymentStatus, 'queued' | 'building' | 'deploying'>

const isUnderWay = (status: DeploymentStatus): status is UnderWay => !settledDeployment.has(status)

const say = (status: ProjectStatus, statusReason: string | null): StatusWords => ({ status, statusReason })
