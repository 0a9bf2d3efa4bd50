import type { InstanceRow } from '../../../platform/db/tables/deployments.ts'
import type { PortTaken } from '../deploy-failed.ts'
import { nowOf } from '../deps.ts'
import { findLive, transitionLive } from '../live-environments.ts'
import { lockOf } from '../power/power.ts'
import { startUnits, stopInstances } from '../run/run-units.ts'
import type { Deploying } from '../step.ts'
import { listInstances } from '../store.ts'
import { point } from './switch-route.ts'

const drainMs = 10_000

/**
 * Stops the previous version before the new one starts, for a program that always uses the same port. Requests wait at the edge
 * meanwhile. Rethrows when the port belongs to another program. After a failure the previous version is started again by the
 * cleanup of the deployment, the next request, or the next start.
 */
export async function takeOverPort(
  taken: PortTaken,
  row: InstanceRow,
  deploying: Deploying,
  healthy: (row: InstanceRow) => Promise<void>,
): Promise<void> {
  const { deployment, env, deps, log, abort } = deploying
  const { db } = deps.database
  const { projectId, environment } = deployment
  const running = await listInstances(db, { projectId, environment, state: 'running' })
  const holders = running.filter(
    ({ deploymentId, port, serverId }) =>
      deploymentId !== deployment.id && port === taken.port && serverId === deployment.serverId,
  )
  if (holders.length === 0) throw taken
  log.line(
    `Warning: the project ignores PORT and listens on port ${taken.port}, which the previous version uses. Stopping the previous version first.`,
  )
  log.line('Requests wait until the new version is up. Let it listen on the port in the variable PORT to deploy without a pause.')
  // Holding the lock: a wake of the previous version for a waiting request runs after this, and finds the new version.
  await deps.locks.run(
    lockOf(deployment),
    async () => {
      const live = await findLive(db, projectId, environment)
      if (live) await transitionLive(db, live, { to: 'waking', from: ['live'], changes: { changedAt: nowOf(deps) } })
      await deps.edge.sync()
      await Promise.all(holders.map(({ id }) => deps.edge.drain(id, drainMs, abort).catch(() => undefined)))
      await stopInstances([...holders, row], deps, abort)
      const parts = { deployment, env, deps, abort, report: (message: string) => log.line(message) }
      for (const again of await startUnits(parts, new Set([row.service]))) await healthy(again)
      await point(deployment, deploying)
    },
    abort,
  )
}
