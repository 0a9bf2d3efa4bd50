import type { InstanceRow } from '../../../platform/db/tables/deployments.ts'
import { PortTaken } from '../deploy-failed.ts'
import { waitUntilHealthy } from '../health/health.ts'
import { listInstances } from '../instance-store.ts'
import { runConcurrently } from '../plan/run-concurrently.ts'
import { withSecrets } from '../plan/snapshot.ts'
import { healthOf, runningUnits } from '../run/run-units.ts'
import type { DeployStep } from '../step.ts'
import { takeOverPort } from './take-over-port.ts'

/** Waits until the new version is healthy: traffic is switched only after that. */
export const healthCheck: DeployStep = {
  name: 'health',
  onServer: true,
  deadlineMs: 15 * 60_000,
  async run(deploying) {
    const { deployment, env, deps, log, abort } = deploying
    const rows = await listInstances(deps.database.db, { deploymentId: deployment.id, state: 'running' })
    await runConcurrently(runningUnits(deployment), abort, async (unit, signal) => {
      const row = rows.find(({ service }) => service === unit.service)
      if (!row) return
      const waitHealthy = (instance: InstanceRow) =>
        waitUntilHealthy(instance, withSecrets(unit, env), healthOf(deployment, unit), { deps, abort: signal })
      await waitHealthy(row).catch((error: unknown) => {
        if (error instanceof PortTaken) return takeOverPort(error, row, deploying, waitHealthy)
        throw error
      })
      log.line(unit.service ? `${unit.service} is healthy` : 'Healthy')
    })
  },
}
