import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { discard } from './deploy-job.ts'
import type { DeploymentsDeps } from './deps.ts'
import { findDeployment, listInstances } from './store.ts'

/**
 * After a start: what runs is made to match what is recorded. Instances that no row speaks of are ours by their label and
 * wanted by nobody; rows of deployments that are over are what a crash left of them.
 */
export async function recover(deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { db } = deps.database
  const rows = await listInstances(db)
  const known = new Set(rows.map(({ id }) => id))
  for (const instance of await deps.runtime.list())
    if (!known.has(instance.instanceId)) await deps.runtime.stop(instance.instanceId, { graceSeconds: 10 }, abort)
  for (const deploymentId of new Set(rows.map((row) => row.deploymentId))) {
    const deployment = await findDeployment(db, deploymentId)
    if (deployment && ['failed', 'cancelled', 'superseded'].includes(deployment.status)) await discard(deployment, deps)
  }
  await removeOldFolders(deps)
}

/** Working folders of deployments that are not under way any more. */
async function removeOldFolders({ workFolder, database }: DeploymentsDeps): Promise<void> {
  const folders = await readdir(workFolder).catch(() => [])
  for (const id of folders) {
    const deployment = await findDeployment(database.db, id)
    if (!deployment || !['queued', 'building', 'deploying'].includes(deployment.status))
      await rm(join(workFolder, id), { recursive: true, force: true })
  }
}
