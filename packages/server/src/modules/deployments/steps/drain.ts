import { stopInstances } from '../run/run-units.ts'
import type { DeployStep } from '../step.ts'
import { listInstances, updateDeployment } from '../store.ts'
import { countersOf } from './switch-route.ts'

const drainMs = 30_000

/** Requests that began on the old version end there. */
export const drain: DeployStep = {
  name: 'drain',
  deadlineMs: drainMs + 15_000,
  async run({ deployment, deps, abort, log, left: { countersBefore } }) {
    const old = await retired(deployment, deps)
    const counts = await Promise.all(old.map(({ id }) => deps.edge.drain(id, drainMs, abort).catch(() => ({ inFlight: 0 }))))
    const inFlight = counts.reduce((sum, one) => sum + one.inFlight, 0)
    if (inFlight > 0) log.line(`${inFlight} requests to the old version were still running after ${drainMs / 1000} s`)
    if (!countersBefore) return
    const after = await countersOf({ deployment, deps })
    if (!after) return
    await updateDeployment(deps.database.db, deployment.id, {
      requestsTotal: Math.max(0, after.total - countersBefore.total),
      requestsFailed: Math.max(0, after.failed - countersBefore.failed),
    })
  },
}

/** Stops the old version. Its artifact stays as long as the rollback window wants it. */
export const retire: DeployStep = {
  name: 'retire',
  onServer: true,
  deadlineMs: 2 * 60_000,
  async run({ deployment, deps, abort }) {
    await stopInstances(await retired(deployment, deps), deps, abort)
  },
}

async function retired(
  { projectId, environment, id }: Parameters<DeployStep['run']>[0]['deployment'],
  { database }: Parameters<DeployStep['run']>[0]['deps'],
) {
  const rows = await listInstances(database.db, { projectId, environment, state: 'retired' })
  return rows.filter(({ deploymentId }) => deploymentId !== id)
}
