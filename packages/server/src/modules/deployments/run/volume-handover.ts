import type { DeploymentRow, InstanceRow } from '../../../platform/db/tables/deployments.ts'
import { listInstances } from '../instance-store.ts'
import { artifactsOf, planOf, type Unit } from '../plan/deployed.ts'
import { envOf } from '../plan/snapshot.ts'
import { findDeployment, updateDeployment } from '../store.ts'
import type { StartContext, UnitStartContext } from './run-parts.ts'
import { conflictingWriters, isExclusiveWriter, isSameService } from './volume-holders.ts'

export interface VolumeHandover {
  /** A running instance of another deployment that this deployment uses too. */
  shared: InstanceRow | null
  /** Deployments whose own instance was stopped: they use the new one until they are retired. */
  usedBy: DeploymentRow[]
}

/** Makes a unit's volumes free for writing before it starts: another instance that writes them is shared or stopped. */
export async function handOverVolumes(
  unit: Unit,
  replica: number,
  context: UnitStartContext,
  stop: (rows: InstanceRow[]) => Promise<void>,
): Promise<VolumeHandover> {
  const handover: VolumeHandover = { shared: null, usedBy: [] }
  if (!isExclusiveWriter(unit)) return handover
  for (const { deployment: other, rows } of await otherDeployments(context)) {
    const otherWriters = conflictingWriters(unit, planOf(context.deployment), { plan: planOf(other), rows })
    const sameReplica = otherWriters.find((row) => row.service === unit.service && row.replica === replica)
    if (sameReplica && (await mayShare(sameReplica, other, context))) {
      await keepShared(unit.service, other, context)
      return { shared: sameReplica, usedBy: [] }
    }
    // Instances that this deployment already shares keep running.
    const shared = new Set(await lowerSharedReplicas(unit, replica, otherWriters, other, context))
    const writers = otherWriters.filter((row) => !shared.has(row))
    if (writers.length === 0) continue
    context.report(`Handing over the data of ${unit.service}: stopping ${writers.map(({ service }) => service).join(', ')} first`)
    await stop(writers)
    handover.usedBy.push(other)
  }
  return handover
}

/** Instances of the same service with a lower replica number that were shared before this one. */
async function lowerSharedReplicas(
  { service }: Unit,
  replica: number,
  rows: readonly InstanceRow[],
  other: DeploymentRow,
  context: StartContext,
): Promise<InstanceRow[]> {
  const earlier = rows.filter((row) => row.service === service && row.replica < replica)
  const isShareable = await Promise.all(earlier.map((row) => mayShare(row, other, context)))
  return earlier.filter((_, index) => isShareable[index])
}

/** Running instances of other deployments of the environment. */
async function otherDeployments({
  deployment,
  deps,
}: StartContext): Promise<{ deployment: DeploymentRow; rows: InstanceRow[] }[]> {
  const { projectId, environment, id } = deployment
  const rows = (await listInstances(deps.database.db, { projectId, environment })).filter(
    (row) => row.deploymentId !== id && row.state !== 'retired',
  )
  const others = []
  for (const [deploymentId, ownRows] of Map.groupBy(rows, (row) => row.deploymentId)) {
    const other = await findDeployment(deps.database.db, deploymentId)
    if (other?.plan && other.artifacts) others.push({ deployment: other, rows: ownRows })
  }
  return others
}

/** Whether an instance can be shared. A live deployment that is restarted never stops instances of a newer one. */
async function mayShare(row: InstanceRow, other: DeploymentRow, { deployment, env, deps }: StartContext): Promise<boolean> {
  if (deployment.status === 'live') return true
  if (deployment.force || row.serverId !== deployment.serverId) return false
  if ((await deps.runtimes.for(row.serverId).inspect(row.id))?.state !== 'running') return false
  return isSameService(row.service, { deployment, env }, { deployment: other, env: await envOf(other, deps) })
}

/** Records the artifact of the shared instance, so that the image that really runs is kept. */
async function keepShared(
  service: string,
  other: DeploymentRow,
  { deployment, artifacts, deps, report }: UnitStartContext,
): Promise<void> {
  report(`${service} is unchanged and keeps running`)
  if (deployment.status === 'live') return
  const sharedArtifact = artifactsOf(other)[service]
  if (!sharedArtifact || artifacts[service]?.reference === sharedArtifact.reference) return
  artifacts[service] = sharedArtifact
  // Services start concurrently: write the latest value, which includes all of them.
  await deps.locks.run(`artifacts:${deployment.id}`, () =>
    updateDeployment(deps.database.db, deployment.id, { artifacts: JSON.stringify(artifacts) }),
  )
}
