import type { StoredVolume } from '@berth/contract'
import { projectJson } from '../../../platform/db/json-columns/projects.ts'
import type { VolumeRow } from '../../../platform/db/tables/deployments.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail } from '../../../platform/failure.ts'
import { job, sharedKind } from '../../../platform/jobs/declare.ts'
import { findAnyProject, lockProject, refuseOperation } from '../../projects/index.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { findLive } from '../live-environments.ts'
import { planOf } from '../plan/deployed.ts'
import { deleteVolumeRow, findDeployment, findVolume, pageOfVolumes } from '../store.ts'

/** A page of a project's volumes, as the API shows them. */
export async function showVolumes(
  project: ProjectRow,
  query: { limit?: number; cursor?: string },
  deps: DeploymentsDeps,
): Promise<{ data: StoredVolume[]; nextCursor: string | null }> {
  const { rows, nextCursor } = await pageOfVolumes(deps.database.db, project.id, query)
  const mounts = new Map<string, ReadonlyMap<string, string>>()
  for (const { environment } of rows)
    if (!mounts.has(environment)) mounts.set(environment, await mountPaths(project, environment, deps))
  const data = rows.map(async ({ id, name, environment, serverId, restoredFrom }) => ({
    id,
    name,
    environment,
    sizeBytes: await deps.runtimes
      .for(serverId)
      .volumeSizeBytes(id)
      .catch(() => null),
    mountPath: mounts.get(environment)?.get(name) ?? null,
    restoredFrom,
  }))
  return { data: await Promise.all(data), nextCursor }
}

/** The mount path of each volume by name: in the live deployment, or else in the settings, which the next one follows. */
async function mountPaths(
  project: ProjectRow,
  environment: string,
  { database: { db } }: DeploymentsDeps,
): Promise<ReadonlyMap<string, string>> {
  const live = await findLive(db, project.id, environment)
  const deployment = live?.deploymentId ? await findDeployment(db, live.deploymentId) : undefined
  const inServices = projectJson.services(project).flatMap((service) => service.volumes ?? [])
  const settings = [
    ...projectJson.volumes(project),
    ...inServices.flatMap(({ type, source, target }) => (type === 'volume' && source ? { name: source, mountPath: target } : [])),
  ]
  const mounted = deployment?.plan ? planOf(deployment).units.flatMap((unit) => unit.volumes) : []
  return new Map([...settings, ...mounted].map(({ name, mountPath }) => [name, mountPath]))
}

interface RemovedVolume {
  id: string
  serverId: string | null
}

/** Committed with the removal of the row: whatever happens to this process, the bytes go. */
const removeBytes = sharedKind<RemovedVolume>('deployments.remove-volume')
const bytesKey = (id: string) => `${removeBytes.kind}:${id}`
const netAfterMs = 60_000

export const removeVolumeJob = ({ runtimes }: DeploymentsDeps) =>
  job<RemovedVolume, unknown>(removeBytes, {
    deadlineMs: 60 * 60_000,
    maxAttempts: 100,
    run: ({ id, serverId }) => runtimes.for(serverId).removeVolume(id),
  })

/**
 * Deletes a volume with its data. Refused where the live deployment or the settings mount it, and while a deployment, backup, restore or
 * move is under way, which may use it. The row goes first: a deployment that is requested while the bytes are removed gets a new volume.
 */
export async function removeVolume({ id, projectId }: VolumeRow, deps: DeploymentsDeps): Promise<void> {
  const { serverId } = await deps.database.transaction(async (bound) => {
    await lockProject(bound, projectId)
    const project = (await findAnyProject(bound.db, projectId)) ?? fail('not_found')
    const row = (await findVolume(bound.db, projectId, id)) ?? fail('not_found')
    await refuseOperation({ projectId, environment: row.environment, kind: 'delete' }, bound, deps)
    const mountPath = (await mountPaths(project, row.environment, { ...deps, database: { ...deps.database, db: bound.db } })).get(
      row.name,
    )
    if (mountPath !== undefined)
      fail('conflict', {
        message: `The volume ${row.name} is mounted at ${mountPath}. Remove it from the project's settings and deploy, then delete it.`,
      })
    await deleteVolumeRow(bound.db, id)
    const net = { uniqueKey: bytesKey(id), runAt: new Date(nowOf(deps) + netAfterMs) }
    await bound.enqueue(removeBytes.of({ projectId }), { id, serverId: row.serverId }, net)
    return row
  })
  try {
    await deps.runtimes.for(serverId).removeVolume(id)
  } catch (error) {
    return deps.log.warn({ err: error, volumeId: id, serverId }, 'deployments: data of a deleted volume not removed, will retry')
  }
  await deps.database.transaction((bound) => bound.cancelJob({ uniqueKey: bytesKey(id) }))
}

/** The bytes first: a row that is left after a crash can be deleted again. */
export async function deleteVolume({ id, serverId }: VolumeRow, { runtimes, database }: DeploymentsDeps): Promise<void> {
  await runtimes.for(serverId).removeVolume(id)
  await deleteVolumeRow(database.db, id)
}
