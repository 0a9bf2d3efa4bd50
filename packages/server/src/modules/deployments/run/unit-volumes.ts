import type { StartRequest } from '../../../drivers/runtime/runtime.ts'
import { newId } from '../../../platform/db/ids.ts'
import { DeployFailed } from '../deploy-failed.ts'
import { nowOf } from '../deps.ts'
import type { Unit } from '../plan/deployed.ts'
import { adoptedBytes, volumeFor } from '../store.ts'
import type { RunParts } from './run-parts.ts'

/** The stored volumes of a unit, made where they are not there yet. Bytes do not follow a project to another server. */
export async function volumesFor(unit: Unit, { deployment, deps }: RunParts): Promise<StartRequest['volumes']> {
  const { projectId, environment, serverId } = deployment
  const runtime = deps.runtimes.for(serverId)
  const volumes = []
  for (const { name, mountPath, readOnly } of unit.volumes) {
    const named = { projectId, environment, service: '', name }
    const wanted = {
      id: newId('vol'),
      ...named,
      runtime: runtime.kind,
      serverId,
      adopted: null,
      restoredFrom: null,
      createdAt: nowOf(deps),
    }
    const volume = await volumeFor(deps.database.db, wanted)
    if (volume.serverId !== serverId)
      throw new DeployFailed(
        'volume_elsewhere',
        `The data of volume ${name} is on ${locationName(volume.serverId)}, but the deployment would run on ${locationName(serverId)}. Set the server back, or back up the volume and delete it first.`,
      )
    await runtime.createVolume({ id: volume.id, projectId, name, adopted: adoptedBytes(volume) })
    volumes.push({ id: volume.id, name, mountPath, readOnly })
  }
  return volumes
}

const locationName = (serverId: string | null) => (serverId === null ? 'this machine' : `the server ${serverId}`)
