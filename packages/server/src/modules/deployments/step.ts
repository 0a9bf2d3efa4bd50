import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import type { DeploymentLog } from './deployment-log.ts'
import type { DeploymentsDeps } from './deps.ts'

/** Context of a step. A step that updates the deployment returns the new row, which the next step gets. */
export interface StepContext {
  deployment: Readonly<DeploymentRow>
  project: ProjectRow
  /** The working folder of this deployment; removed when it ends. */
  folder: string
  env: Record<string, string>
  log: DeploymentLog
  abort: AbortSignal
  deps: DeploymentsDeps
  /** Values that one step passes to a later one. */
  shared: {
    /** Request counts of the project before the switch. */
    countersBefore?: { total: number; failed: number } | undefined
  }
}

export interface DeployStep {
  name: string
  deadlineMs: number
  /** The step uses the project's server, which may be unreachable. */
  onServer?: true
  /** Whether an earlier run of this deployment already completed the step. */
  isDone?(deploying: StepContext): boolean
  /** Repairs what a killed process may not have done after it recorded the step's result. */
  completeDone?(deploying: StepContext): Promise<void>
  /** Returns the new row if the step changed it. */
  run(deploying: StepContext): Promise<DeploymentRow | undefined>
}
