import { waitUntilHealthy } from '../health.ts'
import { healthOf, runningUnits } from '../run-units.ts'
import { withSecrets } from '../snapshot.ts'
import { listInstances } from '../store.ts'
import type { DeployStep } from './step.ts'

/** `live` means healthy: nothing is switched to before it answers. */
export const healthCheck: DeployStep = {
  name: 'health',
  onServer: true,
  deadlineMs: 15 * 60_000,
  async run({ deployment, env, deps, log, abort }) {
    const units = new Map(runningUnits(deployment).map((unit) => [unit.service, unit]))
    const rows = await listInstances(deps.database.db, { deploymentId: deployment.id, state: 'running' })
    for (const row of rows) {
      const unit = units.get(row.service)
      if (!unit) continue
      await waitUntilHealthy(row, withSecrets(unit, env), healthOf(deployment, unit), { deps, abort })
      log.line(unit.service ? `${unit.service} is healthy` : 'Healthy')
    }
  },
}
