import type { DeploymentRow, InstanceRow } from '../../../platform/db/tables/deployments.ts'
import { artifactsOf, planOf, type Unit } from '../plan/plan.ts'
import { envOf } from '../plan/snapshot.ts'
import { findDeployment, listInstances, updateDeployment } from '../store.ts'
import type { RunParts } from './run-parts.ts'
import { holdersOf, isHolder, runsTheSame } from './volume-holders.ts'

export interface VolumeHandover {
  /** Already runs, for another deployment, and serves this one too. */
  shared: InstanceRow | null
  /** Deployments whose own instance had to go: they use the new one until they are retired. */
  usedBy: DeploymentRow[]
}

/** Before a unit that writes a volume is started: whoever else writes it is shared or stopped. */
export async function handOverVolumes(
  unit: Unit,
  replica: number,
  parts: RunParts,
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
    // What this version shares already is not taken from it.
    const shared = new Set(await sharedOf(unit, replica, all, other, parts))
    const holders = all.filter((row) => !shared.has(row))
    if (holders.length === 0) continue
    parts.say(`Handing the data of ${unit.service} over: ${holders.map(({ service }) => service).join(', ')} stops first`)
    await stop(holders)
    room.usedBy.push(other)
  }
  return room
}

/** Of several instances of the same service, those that were kept before this one's turn came. */
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

/** What other deployments of the environment run. */
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

/** A version that is only started again never takes anything from one that is about to follow it. */
async function mayShare(row: InstanceRow, other: DeploymentRow, { deployment, env, deps }: RunParts): Promise<boolean> {
  if (deployment.status === 'live') return true
  if (deployment.force || row.serverId !== deployment.serverId) return false
  if ((await deps.runtimes.for(row.serverId).inspect(row.id))?.state !== 'running') return false
  return runsTheSame(row.service, { deployment, env }, { deployment: other, env: await envOf(other, deps) })
}

/** The image that really runs is the one that has to be kept. */
async function keep(service: string, other: DeploymentRow, { deployment, deps, say }: RunParts): Promise<void> {
  say(`${service} stays as it is`)
  if (deployment.status === 'live') return
  const artifacts = artifactsOf(deployment)
  const theirs = artifactsOf(other)[service]
  if (!theirs || artifacts[service]?.reference === theirs.reference) return
  deployment.artifacts = JSON.stringify({ ...artifacts, [service]: theirs })
  // Services are started side by side: the last write has to be the one with all of them.
  await deps.turns.run(`artifacts:${deployment.id}`, () =>
    updateDeployment(deps.database.db, deployment.id, { artifacts: deployment.artifacts }),
  )
}
