import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import type { DeploymentLog } from './deployment-log.ts'
import type { DeploymentsDeps } from './deps.ts'

/** What a step works on. A step that records something puts the new row here for the next one. */
export interface Deploying {
  deployment: DeploymentRow
  project: ProjectRow
  /** Of this deployment alone; gone when it has ended. */
  folder: string
  env: Record<string, string>
  log: DeploymentLog
  abort: AbortSignal
  deps: DeploymentsDeps
  /** What one step leaves for a later one; shared by all of them. */
  left: {
    /** Requests of the project before the switch. */
    countersBefore?: { total: number; failed: number } | undefined
  }
}

export interface DeployStep {
  name: string
  deadlineMs: number
  /** It works where the project runs, which may be a server that is away. */
  onServer?: true
  /** What an earlier run of the same deployment already did is not done again. */
  isDone?(deploying: Deploying): boolean
  run(deploying: Deploying): Promise<void>
}
