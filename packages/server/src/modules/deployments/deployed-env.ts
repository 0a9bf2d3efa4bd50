import { sealedFor } from '../../platform/db/sealed-columns.ts'
import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import type { DeploymentsDeps } from './deps.ts'
import { secretKeysOf } from './project-scrubbers.ts'
import { updateDeployment } from './store.ts'

/** The variables of its time: read once, sealed with it, and used again by every restart and rollback. */
export async function envOf(deployment: DeploymentRow, deps: DeploymentsDeps): Promise<Record<string, string>> {
  const place = sealedFor.deploymentEnv(deployment.id)
  if (deployment.env) {
    const values = JSON.parse(deps.secretBox.open(deployment.env, place).reveal()) as Record<string, string>
    deps.scrubber.register(...(await secretKeysOf(deployment, deps)).map((key) => values[key]))
    return values
  }
  const { values, secretKeys } = await deps.projects.openEnv(deployment.projectId, deployment.environment)
  deployment.env = deps.secretBox.seal(JSON.stringify(values), place)
  deployment.envSecretKeys = JSON.stringify(secretKeys)
  await updateDeployment(deps.database.db, deployment.id, { env: deployment.env, envSecretKeys: deployment.envSecretKeys })
  // Before anything can print them.
  await deps.scrubbers.refresh(deployment.projectId)
  return values
}
