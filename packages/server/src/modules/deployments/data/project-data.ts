import type { Runtime } from '../../../drivers/runtime/runtime.ts'
import { newId } from '../../../platform/db/ids.ts'
import type { LiveEnvironmentRow, VolumeRow } from '../../../platform/db/tables/deployments.ts'
import type { ProjectPower } from '../../projects/index.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { waitUntilHealthy } from '../health/health.ts'
import { listInstances } from '../instance-store.ts'
import { findLive } from '../live-environments.ts'
import { envOf, withSecrets } from '../plan/snapshot.ts'
import { projectPower } from '../power/power.ts'
import { healthOf, runningUnits, startUnits } from '../run/run-units.ts'
import { findDeployment } from '../store.ts'
import { adoptedVolume, findVolume, listVolumes, markVolumeCreated, volumeFor } from '../volume-store.ts'
import { deleteVolume } from './volumes.ts'

const production = 'production'

/** A unit of the live deployment, with what backups need to know about it. */
export interface DataUnit {
  /** '' for the project itself. */
  service: string
  image: string | null
  /** The environment variables of the container, secrets included. */
  env: Record<string, string>
  volumes: { name: string; mountPath: string; readOnly: boolean }[]
  /** False: a one-shot service, such as a migration, that ends when its work is done. */
  restart: boolean
  /** null when it is not running. */
  instance: { id: string; serverId: string | null } | null
}

/** The data of a project's production environment, for backup and restore. */
export interface ProjectData extends ProjectPower {
  /** Units of the last live deployment, in start order; empty when the project was never live. */
  units(projectId: string): Promise<DataUnit[]>
  volumes(projectId: string): Promise<VolumeRow[]>
  /**
   * Returns the volume of that name, for writing its content. Creates the volume or its data where missing. `restoredFrom` marks a
   * restored copy.
   */
  volume(projectId: string, name: string, serverId: string | null, restoredFrom?: string): Promise<VolumeRow>
  /** Deletes a volume with its data; does nothing when it does not exist. */
  deleteVolume(projectId: string, id: string): Promise<void>
  runtimeFor(serverId: string | null): Runtime
  state(projectId: string): Promise<LiveEnvironmentRow['state'] | null>
  /** Starts only these services and resolves when each is healthy; no requests are routed to them. */
  startServices(projectId: string, services: ReadonlySet<string>, abort: AbortSignal): Promise<void>
}

export const projectData = (deps: DeploymentsDeps): ProjectData => ({
  units: (projectId) => unitsOf(projectId, deps),
  volumes: (projectId) => listVolumes(deps.database.db, { projectId, environment: production }),
  async volume(projectId, name, serverId, restoredFrom) {
    const runtime = deps.runtimes.for(serverId)
    const key = { projectId, environment: production, service: '', name }
    const newVolume = {
      id: newId('vol'),
      ...key,
      runtime: runtime.kind,
      serverId,
      machineId: serverId === null ? deps.machineId : null,
      hasData: 0 as const,
      adopted: null,
      restoredFrom: restoredFrom ?? null,
      createdAt: nowOf(deps),
    }
    const volume = await volumeFor(deps.database.db, newVolume)
    await deps.runtimes.for(volume.serverId).createVolume({ id: volume.id, projectId, name, adopted: adoptedVolume(volume) })
    if (volume.hasData === 0) await markVolumeCreated(deps.database.db, volume, deps.machineId)
    return volume
  },
  async deleteVolume(projectId, id) {
    const volume = await findVolume(deps.database.db, projectId, id)
    if (volume) await deleteVolume(volume, deps)
  },
  runtimeFor: (serverId) => deps.runtimes.for(serverId),
  state: async (projectId) => (await findLive(deps.database.db, projectId, production))?.state ?? null,
  ...projectPower(deps),
  startServices: (projectId, services, abort) => startServices(projectId, services, deps, abort),
})

async function liveDeployment(projectId: string, { database: { db } }: DeploymentsDeps) {
  const live = await findLive(db, projectId, production)
  const deployment = live?.deploymentId ? await findDeployment(db, live.deploymentId) : undefined
  return deployment?.plan && deployment.artifacts ? deployment : undefined
}

async function unitsOf(projectId: string, deps: DeploymentsDeps): Promise<DataUnit[]> {
  const deployment = await liveDeployment(projectId, deps)
  if (!deployment) return []
  const env = await envOf(deployment, deps)
  const rows = await listInstances(deps.database.db, { projectId, environment: production, state: 'running' })
  return runningUnits(deployment).map((unit) => {
    const { service, image, environment, volumes } = withSecrets(unit, env)
    // An unchanged service keeps running under the deployment that started it.
    const candidates = rows.filter((row) => row.service === service)
    const row = candidates.find(({ deploymentId }) => deploymentId === deployment.id) ?? candidates[0]
    const instance = row ? { id: row.id, serverId: row.serverId } : null
    return { service, image, env: { ...environment, ...env }, volumes, restart: unit.restart || unit.staysUp === true, instance }
  })
}

async function startServices(projectId: string, services: ReadonlySet<string>, deps: DeploymentsDeps, abort: AbortSignal) {
  const deployment = await liveDeployment(projectId, deps)
  if (!deployment) throw new Error('The project was never live, so its services cannot be started')
  const env = await envOf(deployment, deps)
  const report = (message: string) => deps.log.debug({ deploymentId: deployment.id }, message)
  const rows = await startUnits({ deployment, env, deps, abort, report }, services)
  for (const row of rows) {
    const unit = runningUnits(deployment).find(({ service }) => service === row.service)
    if (unit) await waitUntilHealthy(row, withSecrets(unit, env), healthOf(deployment, unit), { deps, abort })
  }
}
