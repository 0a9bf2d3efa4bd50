import type { StartRequest } from '../../../drivers/runtime/runtime.ts'
import { VolumeMissing } from '../../../drivers/runtime/runtime-errors.ts'
import { newId } from '../../../platform/db/ids.ts'
import type { VolumeRow } from '../../../platform/db/tables/deployments.ts'
import { DeployFailed } from '../deploy-failed.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import type { Unit } from '../plan/deployed.ts'
import { adoptedVolume, markVolumeCreated, volumeFor } from '../volume-store.ts'
import type { StartContext } from './run-parts.ts'

/** The volumes of a unit; new ones are created. The data of a volume is not copied when the project changes its server. */
export async function volumesFor(unit: Unit, { deployment, deps }: StartContext): Promise<StartRequest['volumes']> {
  const { projectId, environment, serverId } = deployment
  const runtime = deps.runtimes.for(serverId)
  const volumes = []
  for (const { name, mountPath, readOnly } of unit.volumes) {
    const key = { projectId, environment, service: '', name }
    const newVolume = {
      id: newId('vol'),
      ...key,
      runtime: runtime.kind,
      serverId,
      machineId: serverId === null ? deps.machineId : null,
      hasData: 0 as const,
      adopted: null,
      restoredFrom: null,
      createdAt: nowOf(deps),
    }
    const volume = await volumeFor(deps.database.db, newVolume)
    if (volume.serverId !== serverId)
      throw new DeployFailed(
        'volume_elsewhere',
        `The data of volume ${name} is on ${locationName(volume.serverId)}, but the deployment would run on ${locationName(serverId)}. Set the server back, or back up the volume and delete it first.`,
      )
    await openVolume(volume, deps)
    volumes.push({ id: volume.id, name, mountPath, readOnly })
  }
  return volumes
}

/** Creates the data of a new volume. The data of an older one must exist: an empty volume would hide its loss. */
async function openVolume(volume: VolumeRow, deps: DeploymentsDeps): Promise<void> {
  const { id, projectId, name, serverId, machineId } = volume
  if (serverId === null && machineId !== null && machineId !== deps.machineId)
    throw new DeployFailed('volume_elsewhere', `The data of volume ${name} is on another machine (${machineId}).`)
  const mustExist = volume.hasData === 1
  try {
    await deps.runtimes.for(serverId).createVolume({ id, projectId, name, adopted: adoptedVolume(volume), mustExist })
  } catch (error) {
    if (!(error instanceof VolumeMissing)) throw error
    throw new DeployFailed(
      'volume_missing',
      `The data of volume ${name} (${id}) no longer exists on ${locationName(serverId)}. It is not replaced by an empty volume. Copy the data back or restore a backup. To start empty, delete the volume: berth volumes remove ${id} --yes.`,
      [],
      { cause: error },
    )
  }
  if (!mustExist) await markVolumeCreated(deps.database.db, volume, deps.machineId)
}

const locationName = (serverId: string | null) => (serverId === null ? 'this machine' : `the server ${serverId}`)
