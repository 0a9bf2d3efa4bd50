import type { Instance } from '../../drivers/runtime/runtime.ts'
import type { InstanceRow } from '../../platform/db/tables/deployments.ts'
import type { DeploymentsDeps } from './deps.ts'
import { findInstance, listInstances, updateInstance } from './store.ts'

type Place = Pick<InstanceRow, 'host' | 'port' | 'listener'>

/** Where an instance is reached, and whose listener that has to be, as its row says it. */
export const placeOf = (instance: Instance | undefined): Place => {
  const { host = null, port = null, listener } = instance?.address ?? {}
  return { host, port, listener: listener ? JSON.stringify(listener) : null }
}

/**
 * Brings a row to where its instance is now; true when it was elsewhere. An instance that restarts is nowhere until it is
 * back, and then has another port: the old one may be anybody's.
 */
export async function noteAddress(row: InstanceRow, instance: Instance | undefined, { database }: DeploymentsDeps) {
  const place = placeOf(instance)
  const isSame = place.host === row.host && place.port === row.port && place.listener === row.listener
  if (row.state !== 'running' || isSame) return false
  await updateInstance(database.db, row.id, place)
  return true
}

/** Follows instances that move, one look at an instance at a time. Gives the end of it. */
export function followAddresses(deps: DeploymentsDeps): () => void {
  return deps.runtimes.onChange(({ instance: { instanceId } }, serverId) => {
    const look = async () => {
      const row = await findInstance(deps.database.db, instanceId)
      if (!row || row.serverId !== serverId) return
      if (await noteAddress(row, await deps.runtimes.for(serverId).inspect(instanceId), deps)) await deps.edge.sync()
    }
    deps.turns
      .run(`address:${instanceId}`, look)
      .catch((error: unknown) => deps.log.warn({ err: error, instanceId }, 'the edge does not know yet where an instance is'))
  })
}

/** After a start: what moved on this machine while nobody looked. */
export const noteAllAddresses = async (deps: DeploymentsDeps): Promise<void> => {
  for (const row of (await listInstances(deps.database.db, { state: 'running' })).filter(({ serverId }) => serverId === null))
    await noteAddress(row, await deps.runtimes.for(row.serverId).inspect(row.id), deps)
}
