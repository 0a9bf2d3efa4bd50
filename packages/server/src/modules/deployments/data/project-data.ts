import type { Runtime } from '../../../drivers/runtime/runtime.ts'
import { newId } from '../../../platform/db/ids.ts'
import type { LiveEnvironmentRow, VolumeRow } from '../../../platform/db/tables/deployments.ts'
import type { ProjectPower } from '../../projects/index.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { waitUntilHealthy } from '../health/health.ts'
import { findLive } from '../live-environments.ts'
import { envOf, withSecrets } from '../plan/snapshot.ts'
import { projectPower } from '../power/power.ts'
import { healthOf, runningUnits, startUnits } from '../run/run-units.ts'
import { adoptedBytes, findDeployment, findVolume, listInstances, listVolumes, volumeFor } from '../store.ts'
import { deleteVolume } from './volumes.ts'

const production = 'production'

/** A unit of what runs, as far as its data is concerned. */
export interface DataUnit {
  /** '' for the project itself. */
  service: string
  image: string | null
  /** What it was started with, secrets included. */
  env: Record<string, string>
  volumes: { name: string; mountPath: string; readOnly: boolean }[]
  /** False: a one-shot service, such as a migration, that ends when its work is done. */
  restart: boolean
  /** null: it does not run now. */
  instance: { id: string; serverId: string | null } | null
}

/** The data of a project's production environment, for whoever saves it and brings it back. */
export interface ProjectData extends ProjectPower {
  /** What was live last, in the order of its start; empty when nothing ever was. */
  units(projectId: string): Promise<DataUnit[]>
  volumes(projectId: string): Promise<VolumeRow[]>
  /** The volume of that name, made where there is none; `restoredFrom` marks a copy. */
  volume(projectId: string, name: string, serverId: string | null, restoredFrom?: string): Promise<VolumeRow>
  /** Deletes a volume with its data; one that does not exist is gone already. */
  deleteVolume(projectId: string, id: string): Promise<void>
  runtimeFor(serverId: string | null): Runtime
  state(projectId: string): Promise<LiveEnvironmentRow['state'] | null>
  /** These services alone, and resolves when each is healthy; nothing is routed to them. */
  startServices(projectId: string, services: ReadonlySet<string>, abort: AbortSignal): Promise<void>
}

export const projectData = (deps: DeploymentsDeps): ProjectData => ({
  units: (projectId) => unitsOf(projectId, deps),
  volumes: (projectId) => listVolumes(deps.database.db, { projectId, environment: production }),
  async volume(projectId, name, serverId, restoredFrom) {
    const runtime = deps.runtimes.for(serverId)
    const named = { projectId, environment: production, service: '', name }
    const wanted = {
      id: newId('vol'),
      ...named,
      runtime: runtime.kind,
      serverId,
      adopted: null,
      restoredFrom: restoredFrom ?? null,
      createdAt: nowOf(deps),
    }
    const volume = await volumeFor(deps.database.db, wanted)
    await deps.runtimes.for(volume.serverId).createVolume({ id: volume.id, projectId, name, adopted: adoptedBytes(volume) })
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
    // A service that stayed as it was runs for the deployment that started it.
    const own = rows.filter((row) => row.service === service)
    const row = own.find(({ deploymentId }) => deploymentId === deployment.id) ?? own[0]
    const instance = row ? { id: row.id, serverId: row.serverId } : null
    return { service, image, env: { ...environment, ...env }, volumes, restart: unit.restart || unit.staysUp === true, instance }
  })
}

async function startServices(projectId: string, services: ReadonlySet<string>, deps: DeploymentsDeps, abort: AbortSignal) {
  const deployment = await liveDeployment(projectId, deps)
  if (!deployment) throw new Error('Nothing of the project was ever live, so none of its services can be started')
  const env = await envOf(deployment, deps)
  const say = (message: string) => deps.log.debug({ deploymentId: deployment.id }, message)
  const rows = await startUnits({ deployment, env, deps, abort, say }, services)
  for (const row of rows) {
    const unit = runningUnits(deployment).find(({ service }) => service === row.service)
    if (unit) await waitUntilHealthy(row, withSecrets(unit, env), healthOf(deployment, unit), { deps, abort })
  }
}
