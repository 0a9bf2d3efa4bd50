import type { StoredVolume } from '@berth/contract'
import { VolumeMissing } from '../../../drivers/runtime/runtime-errors.ts'
import { projectJson } from '../../../platform/db/json-columns/projects.ts'
import type { VolumeRow } from '../../../platform/db/tables/deployments.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail } from '../../../platform/failure.ts'
import { job, sharedKind } from '../../../platform/jobs/declare.ts'
import { findAnyProject, lockProject, refuseOperation } from '../../projects/index.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { findLive } from '../live-environments.ts'
import { planOf } from '../plan/deployed.ts'
import { findDeployment } from '../store.ts'
import { adoptedVolume, deleteVolumeRow, findVolume, pageOfVolumes } from '../volume-store.ts'

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

/** Mount paths by volume name: that in the live deployment, else that in the settings, which the next deployment uses. */
async function mountPaths(
  project: ProjectRow,
  environment: string,
  { database: { db } }: DeploymentsDeps,
): Promise<ReadonlyMap<string, string>> {
  const live = await findLive(db, project.id, environment)
  const deployment = live?.deploymentId ? await findDeployment(db, live.deploymentId) : undefined
  const serviceVolumes = projectJson.services(project).flatMap((service) => service.volumes ?? [])
  const settings = [
    ...projectJson.volumes(project),
    ...serviceVolumes.flatMap(({ type, source, target }) =>
      type === 'volume' && source ? { name: source, mountPath: target } : [],
    ),
  ]
  const mounted = deployment?.plan ? planOf(deployment).units.flatMap((unit) => unit.volumes) : []
  return new Map([...settings, ...mounted].map(({ name, mountPath }) => [name, mountPath]))
}

interface RemovedVolume {
  id: string
  serverId: string | null
}

/** Job that removes the data. It is enqueued in the transaction that deletes the row, so it also runs after a crash. */
const removeDataKind = sharedKind<RemovedVolume>('deployments.remove-volume')
const removeDataKey = (id: string) => `${removeDataKind.kind}:${id}`
const fallbackAfterMs = 60_000

export const removeVolumeJob = ({ runtimes }: DeploymentsDeps) =>
  job<RemovedVolume, unknown>(removeDataKind, {
    deadlineMs: 60 * 60_000,
    maxAttempts: 100,
    run: ({ id, serverId }) => runtimes.for(serverId).removeVolume(id),
  })

/** Whether the data was created and no longer exists. False when the runtime cannot be asked. */
async function isDataLost(volume: VolumeRow, { runtimes }: DeploymentsDeps): Promise<boolean> {
  const { id, projectId, name, serverId } = volume
  if (volume.hasData === 0) return false
  const opened = runtimes.for(serverId).createVolume({ id, projectId, name, adopted: adoptedVolume(volume), mustExist: true })
  return opened.then(
    () => false,
    (error: unknown) => error instanceof VolumeMissing,
  )
}

/**
 * Deletes a volume with its data. Refused while the live deployment or the settings mount it, unless its data is lost, and during a
 * deployment, backup, restore or transfer. The row is deleted first: a deployment requested while the data is being removed gets a
 * new volume.
 */
export async function removeVolume(volume: VolumeRow, deps: DeploymentsDeps): Promise<void> {
  const { id, projectId } = volume
  const isLost = await isDataLost(volume, deps)
  const { serverId } = await deps.database.transaction(async (transaction) => {
    await lockProject(transaction, projectId)
    const project = (await findAnyProject(transaction.db, projectId)) ?? fail('not_found')
    const row = (await findVolume(transaction.db, projectId, id)) ?? fail('not_found')
    await refuseOperation({ projectId, environment: row.environment, kind: 'delete' }, transaction, deps)
    const mountPath = (
      await mountPaths(project, row.environment, { ...deps, database: { ...deps.database, db: transaction.db } })
    ).get(row.name)
    if (mountPath !== undefined && !isLost)
      fail('conflict', {
        message: `The volume ${row.name} is mounted at ${mountPath}. Unmount it in the project's settings or with berth volumes unmount ${row.name}, and deploy. Then delete it.`,
      })
    await deleteVolumeRow(transaction.db, id)
    const fallback = { uniqueKey: removeDataKey(id), runAt: new Date(nowOf(deps) + fallbackAfterMs) }
    await transaction.enqueue(removeDataKind.of({ projectId }), { id, serverId: row.serverId }, fallback)
    return row
  })
  try {
    await deps.runtimes.for(serverId).removeVolume(id)
  } catch (error) {
    return deps.log.warn({ err: error, volumeId: id, serverId }, 'deployments: data of a deleted volume not removed, will retry')
  }
  await deps.database.transaction((transaction) => transaction.cancelJob({ uniqueKey: removeDataKey(id) }))
}

/** Removes the data before the row: after a crash the row still exists and can be deleted again. */
export async function deleteVolume({ id, serverId }: VolumeRow, { runtimes, database }: DeploymentsDeps): Promise<void> {
  await runtimes.for(serverId).removeVolume(id)
  await deleteVolumeRow(database.db, id)
}
