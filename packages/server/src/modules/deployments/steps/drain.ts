import { listInstances } from '../instance-store.ts'
import { stopInstances } from '../run/run-units.ts'
import type { DeployStep } from '../step.ts'
import { updateDeployment } from '../store.ts'
import { countersOf } from './switch-route.ts'

const drainTimeoutMs = 30_000

/** Waits until the requests in flight to the old version have ended. */
export const drain: DeployStep = {
  name: 'drain',
  deadlineMs: drainTimeoutMs + 15_000,
  async run({ deployment, deps, abort, log, shared: { countersBefore } }) {
    const old = await listRetired(deployment, deps)
    const counts = await Promise.all(
      old.map(({ id }) => deps.edge.drain(id, drainTimeoutMs, abort).catch(() => ({ inFlight: 0 }))),
    )
    const inFlight = counts.reduce((sum, one) => sum + one.inFlight, 0)
    if (inFlight > 0) log.line(`${inFlight} requests to the old version were still running after ${drainTimeoutMs / 1000} s`)
    if (!countersBefore) return
    const after = await countersOf({ deployment, deps })
    if (!after) return
    await updateDeployment(deps.database.db, deployment.id, {
      requestsTotal: Math.max(0, after.total - countersBefore.total),
      requestsFailed: Math.max(0, after.failed - countersBefore.failed),
    })
  },
}

/** Stops the old version. Its artifact is kept while the deployment is in the rollback window. */
export const retire: DeployStep = {
  name: 'retire',
  onServer: true,
  deadlineMs: 2 * 60_000,
  async run({ deployment, deps, abort }) {
    await stopInstances(await listRetired(deployment, deps), deps, abort)
  },
}

async function listRetired(
  { projectId, environment, id }: Parameters<DeployStep['run']>[0]['deployment'],
  { database }: Parameters<DeployStep['run']>[0]['deps'],
) {
  const rows = await listInstances(database.db, { projectId, environment, state: 'retired' })
  return rows.filter(({ deploymentId }) => deploymentId !== id)
}
