import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import type { DeploymentsDeps } from '../deps.ts'

/** What starting the units of one deployment works with. */
export interface RunParts {
  deployment: DeploymentRow
  env: Record<string, string>
  say: (message: string) => void
  abort: AbortSignal
  deps: DeploymentsDeps
}
