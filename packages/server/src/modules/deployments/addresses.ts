import type { Instance } from '../../drivers/runtime/runtime.ts'
import type { InstanceRow } from '../../platform/db/tables/deployments.ts'
import type { DeploymentsDeps } from './deps.ts'
import { findInstance, listInstances, updateInstance } from './instance-store.ts'

type UpstreamAddress = Pick<InstanceRow, 'host' | 'port' | 'listener'>

/** The address columns of an instance row: host, port, and the listener that must own the port. */
export const addressOf = (instance: Instance | undefined): UpstreamAddress => {
  const { host = null, port = null, listener } = instance?.address ?? {}
  return { host, port, listener: listener ? JSON.stringify(listener) : null }
}

/**
 * Writes the current address of an instance to its row; returns true when it changed. A restarting instance has no address: when
 * it is up again it has another port, and another program may listen on the old one.
 */
export async function saveAddress(row: InstanceRow, instance: Instance | undefined, { database }: DeploymentsDeps) {
  const address = addressOf(instance)
  const isSame = address.host === row.host && address.port === row.port && address.listener === row.listener
  if (row.state !== 'running' || isSame) return false
  await updateInstance(database.db, row.id, address)
  return true
}

/**
 * Updates the address of an instance on every runtime event, one event per instance at a time. Returns the function that stops it.
 */
export function watchAddresses(deps: DeploymentsDeps): () => void {
  return deps.runtimes.onChange(({ instance: { instanceId } }, serverId) => {
    const check = async () => {
      const row = await findInstance(deps.database.db, instanceId)
      if (!row || row.serverId !== serverId) return
      if (await saveAddress(row, await deps.runtimes.for(serverId).inspect(instanceId), deps)) await deps.edge.sync()
    }
    deps.locks
      .run(`address:${instanceId}`, check)
      .catch((error: unknown) =>
        deps.log.warn({ err: error, instanceId }, 'deployments: edge not updated with the address of an instance'),
      )
  })
}

/** Corrects the addresses of instances on this machine that changed while the control plane was down. Called at startup. */
export const refreshAddresses = async (deps: DeploymentsDeps): Promise<void> => {
  for (const row of (await listInstances(deps.database.db, { state: 'running' })).filter(({ serverId }) => serverId === null))
    await saveAddress(row, await deps.runtimes.for(row.serverId).inspect(row.id), deps)
}
