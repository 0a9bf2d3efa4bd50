import type { InstanceRow } from '../../../platform/db/tables/deployments.ts'
import type { PortTaken } from '../deploy-failed.ts'
import { nowOf } from '../deps.ts'
import { listInstances } from '../instance-store.ts'
import { findLive, transitionLive } from '../live-environments.ts'
import { environmentLock } from '../power/power.ts'
import { startUnits, stopInstances } from '../run/run-units.ts'
import type { StepContext } from '../step.ts'
import { routeTo } from './switch-route.ts'

const drainTimeoutMs = 10_000

/**
 * Stops the previous version before the new one starts, for a program that always uses the same port. Requests wait at the edge
 * meanwhile. Rethrows when the port belongs to another program. After a failure the previous version is started again by the
 * cleanup of the deployment, the next request, or the next start.
 */
export async function takeOverPort(
  portTaken: PortTaken,
  row: InstanceRow,
  deploying: StepContext,
  waitHealthy: (row: InstanceRow) => Promise<void>,
): Promise<void> {
  const { deployment, env, deps, log, abort } = deploying
  const { db } = deps.database
  const { projectId, environment } = deployment
  const running = await listInstances(db, { projectId, environment, state: 'running' })
  const portOwners = running.filter(
    ({ deploymentId, port, serverId }) =>
      deploymentId !== deployment.id && port === portTaken.port && serverId === deployment.serverId,
  )
  if (portOwners.length === 0) throw portTaken
  log.line(
    `Warning: the project ignores PORT and listens on port ${portTaken.port}, which the previous version uses. Stopping the previous version first.`,
  )
  log.line('Requests wait until the new version is up. Let it listen on the port in the variable PORT to deploy without a pause.')
  // Holding the lock: a wake of the previous version for a waiting request runs after this, and finds the new version.
  await deps.locks.run(
    environmentLock(deployment),
    async () => {
      const live = await findLive(db, projectId, environment)
      if (live) await transitionLive(db, live, { to: 'waking', from: ['live'], changes: { changedAt: nowOf(deps) } })
      await deps.edge.sync()
      await Promise.all(portOwners.map(({ id }) => deps.edge.drain(id, drainTimeoutMs, abort).catch(() => undefined)))
      await stopInstances([...portOwners, row], deps, abort)
      const context = { deployment, env, deps, abort, report: (message: string) => log.line(message) }
      for (const restarted of await startUnits(context, new Set([row.service]))) await waitHealthy(restarted)
      await routeTo(deployment, deploying)
    },
    abort,
  )
}
