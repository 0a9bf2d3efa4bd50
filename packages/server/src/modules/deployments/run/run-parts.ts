import type { Artifact } from '../../../drivers/runtime/runtime.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import type { DeploymentsDeps } from '../deps.ts'

/** Context for starting the units of one deployment. */
export interface StartContext {
  deployment: Readonly<DeploymentRow>
  env: Record<string, string>
  report: (message: string) => void
  abort: AbortSignal
  deps: DeploymentsDeps
}

/** Context while the units start. */
export interface UnitStartContext extends StartContext {
  /** Artifacts by service. A unit that shares a running instance replaces its own by that of the instance. */
  artifacts: Record<string, Artifact>
}
