import type { StartRequest } from '../../../drivers/runtime/runtime.ts'
import { newId } from '../../../platform/db/ids.ts'
import { DeployFailed } from '../deploy-failed.ts'
import { nowOf } from '../deps.ts'
import type { Unit } from '../plan/deployed.ts'
import { adoptedVolume, volumeFor } from '../store.ts'
import type { StartContext } from './run-parts.ts'

/** The volumes of a unit; missing ones are created. The data of a volume is not copied when the project changes its server. */
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
    await runtime.createVolume({ id: volume.id, projectId, name, adopted: adoptedVolume(volume) })
    volumes.push({ id: volume.id, name, mountPath, readOnly })
  }
  return volumes
}

const locationName = (serverId: string | null) => (serverId === null ? 'this machine' : `the server ${serverId}`)
