import type { InstanceRow } from '../../../platform/db/tables/deployments.ts'
import { waitUntilHealthy } from '../health.ts'
import { healthOf, runningUnits } from '../run-units.ts'
import { withSecrets } from '../snapshot.ts'
import { listInstances } from '../store.ts'
import { type DeployStep, PortTaken } from './step.ts'
import { takeOverPort } from './take-over-port.ts'

/** `live` means healthy: nothing is switched to before it answers. */
export const healthCheck: DeployStep = {
  name: 'health',
  onServer: true,
  deadlineMs: 15 * 60_000,
  async run(deploying) {
    const { deployment, env, deps, log, abort } = deploying
    const units = new Map(runningUnits(deployment).map((unit) => [unit.service, unit]))
    const rows = await listInstances(deps.database.db, { deploymentId: deployment.id, state: 'running' })
    for (const row of rows) {
      const unit = units.get(row.service)
      if (!unit) continue
      const healthy = (one: InstanceRow) =>
        waitUntilHealthy(one, withSecrets(unit, env), healthOf(deployment, unit), { deps, abort })
      await healthy(row).catch((error: unknown) => {
        if (error instanceof PortTaken) return takeOverPort(error, row, deploying, healthy)
        throw error
      })
      log.line(unit.service ? `${unit.service} is healthy` : 'Healthy')
    }
  },
}
