import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import type { DeploymentsDeps } from '../deps.ts'

/** Context for starting the units of one deployment. */
export interface RunParts {
  deployment: DeploymentRow
  env: Record<string, string>
  say: (message: string) => void
  abort: AbortSignal
  deps: DeploymentsDeps
}
