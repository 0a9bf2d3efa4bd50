import type { DeploymentRow, InstanceRow } from '../../../platform/db/tables/deployments.ts'
import { artifactsOf, planOf, type Unit } from '../plan/deployed.ts'
import { envOf } from '../plan/snapshot.ts'
import { findDeployment, listInstances, updateDeployment } from '../store.ts'
import type { RunParts, StartingParts } from './run-parts.ts'
import { holdersOf, isHolder, runsTheSame } from './volume-holders.ts'

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
  parts: StartingParts,
  stop: (rows: InstanceRow[]) => Promise<void>,
): Promise<VolumeHandover> {
  const room: VolumeHandover = { shared: null, usedBy: [] }
  if (!isHolder(unit)) return room
  for (const { deployment: other, rows } of await othersIn(parts)) {
    const all = holdersOf(unit, planOf(parts.deployment), { plan: planOf(other), rows })
    const twin = all.find((row) => row.service === unit.service && row.replica === replica)
    if (twin && (await mayShare(twin, other, parts))) {
      await keep(unit.service, other, parts)
      return { shared: twin, usedBy: [] }
    }
    // Instances that this deployment already shares keep running.
    const shared = new Set(await sharedOf(unit, replica, all, other, parts))
    const holders = all.filter((row) => !shared.has(row))
    if (holders.length === 0) continue
    parts.report(`Handing over the data of ${unit.service}: stopping ${holders.map(({ service }) => service).join(', ')} first`)
    await stop(holders)
    room.usedBy.push(other)
  }
  return room
}

/** Instances of the same service with a lower replica number that were shared before this one. */
async function sharedOf(
  { service }: Unit,
  replica: number,
  rows: readonly InstanceRow[],
  other: DeploymentRow,
  parts: RunParts,
): Promise<InstanceRow[]> {
  const earlier = rows.filter((row) => row.service === service && row.replica < replica)
  const kept = await Promise.all(earlier.map((row) => mayShare(row, other, parts)))
  return earlier.filter((_, index) => kept[index])
}

/** Running instances of other deployments of the environment. */
async function othersIn({ deployment, deps }: RunParts): Promise<{ deployment: DeploymentRow; rows: InstanceRow[] }[]> {
  const { projectId, environment, id } = deployment
  const rows = (await listInstances(deps.database.db, { projectId, environment })).filter(
    (row) => row.deploymentId !== id && row.state !== 'retired',
  )
  const others = []
  for (const [deploymentId, own] of Map.groupBy(rows, (row) => row.deploymentId)) {
    const other = await findDeployment(deps.database.db, deploymentId)
    if (other?.plan && other.artifacts) others.push({ deployment: other, rows: own })
  }
  return others
}

/** Whether an instance can be shared. A live deployment that is restarted never stops instances of a newer one. */
async function mayShare(row: InstanceRow, other: DeploymentRow, { deployment, env, deps }: RunParts): Promise<boolean> {
  if (deployment.status === 'live') return true
  if (deployment.force || row.serverId !== deployment.serverId) return false
  if ((await deps.runtimes.for(row.serverId).inspect(row.id))?.state !== 'running') return false
  return runsTheSame(row.service, { deployment, env }, { deployment: other, env: await envOf(other, deps) })
}

/** Records the artifact of the shared instance, so that the image that really runs is kept. */
async function keep(
  service: string,
  other: DeploymentRow,
  { deployment, artifacts, deps, report: say }: StartingParts,
): Promise<void> {
  say(`${service} is unchanged and keeps running`)
  if (deployment.status === 'live') return
  const theirs = artifactsOf(other)[service]
  if (!theirs || artifacts[service]?.reference === theirs.reference) return
  artifacts[service] = theirs
  // Services start concurrently: write the latest value, which includes all of them.
  await deps.locks.run(`artifacts:${deployment.id}`, () =>
    updateDeployment(deps.database.db, deployment.id, { artifacts: JSON.stringify(artifacts) }),
  )
}
