import type { Storage, StorageCleanUp, StoragePlace } from '@berth/contract'
import { errorMessage } from '../../../platform/error-message.ts'
import { findAnyProject } from '../../projects/index.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { listAllLocations } from '../store.ts'
import { cleanUpProject } from './clean-up.ts'

const measureMs = 60_000
const cleanUpMs = 10 * 60_000

/** Disk usage of builds on this machine and every server. A server that does not answer is in the list with the reason. */
export async function showStorage(deps: DeploymentsDeps): Promise<Storage> {
  const serverIds = await listAllLocations(deps.database.db)
  return { places: await Promise.all(serverIds.map((serverId) => showLocation(serverId, deps))) }
}

async function showLocation(serverId: string | null, deps: DeploymentsDeps): Promise<StoragePlace> {
  try {
    const { projects, ...use } = await deps.runtimes.for(serverId).storage(AbortSignal.timeout(measureMs))
    const namedProjects = await Promise.all(
      projects.map(async (project) => ({
        ...project,
        name: (await findAnyProject(deps.database.db, project.projectId))?.name ?? null,
      })),
    )
    const size = (project: (typeof namedProjects)[number]) => project.artifactsBytes + project.cacheBytes
    return { serverId, error: null, ...use, projects: namedProjects.sort((one, other) => size(other) - size(one)) }
  } catch (error) {
    const empty = { artifactsBytes: 0, cacheBytes: 0, cacheMaxBytes: null, disk: null, projects: [] }
    return { serverId, error: errorMessage(error), ...empty }
  }
}

/** Removes artifacts that no deployment can start from, leftovers of deleted projects, and the build cache. */
export async function cleanUpStorage(deps: DeploymentsDeps): Promise<StorageCleanUp> {
  const before = await showStorage(deps)
  const abort = AbortSignal.timeout(cleanUpMs)
  for (const { serverId, error, projects } of before.places) {
    if (error !== null) continue
    const runtime = deps.runtimes.for(serverId)
    for (const { projectId } of projects)
      if (await findAnyProject(deps.database.db, projectId)) await cleanUpProject(projectId, deps, abort)
      else await runtime.removeBuilds(projectId, abort)
    await runtime.clearBuildCache(abort)
  }
  const { places } = await showStorage(deps)
  return { freedBytes: Math.max(0, usedBytes(before.places) - usedBytes(places)), places }
}

const usedBytes = (places: readonly StoragePlace[]) =>
  places.reduce((bytes, { artifactsBytes, cacheBytes }) => bytes + artifactsBytes + cacheBytes, 0)
