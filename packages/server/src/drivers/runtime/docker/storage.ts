import { statfs } from 'node:fs/promises'
import { BuildsUse, type StorageUse } from '../storage-use.ts'
import type { BuildCache } from './build/build-cache.ts'
import type { BuildStages } from './build/build-stages.ts'
import { listStaticArtifacts, removeStaticArtifact } from './build/build-static.ts'
import { callEngine, type Engine, isRemote } from './engine.ts'
import { listImageArtifacts, removeDependencies, removeImageArtifact } from './images.ts'
import { type Labels, labelIn } from './labels.ts'
import { measureAlone } from './run/volume-sizes.ts'

interface StorageParts {
  engine: Engine
  labels: Labels
  cache: BuildCache
  stages: BuildStages
  artifactsFolder: string
}

interface EngineUse {
  Images?: { Labels?: Record<string, string> | null; Size: number; SharedSize: number }[] | null
}

/** Disk usage of this instance's builds on the engine. Layers that an image shares with others are not counted. */
export async function storageOf(
  { engine, labels, cache, artifactsFolder }: StorageParts,
  abort: AbortSignal,
): Promise<StorageUse> {
  const use = new BuildsUse()
  for (const { Labels: marks, Size, SharedSize } of ((await measureAlone(() => engine.df(), abort)) as EngineUse).Images ?? []) {
    if (!labels.isOurs(marks ?? undefined)) continue
    const kind = labelIn(marks, 'kind') === 'artifact' ? 'artifact' : 'cache'
    use.add(kind, labelIn(marks, 'project'), Size - Math.max(0, SharedSize))
  }
  for (const { projectId, sizeBytes } of await listStaticArtifacts(artifactsFolder)) use.add('artifact', projectId, sizeBytes)
  const { byProject, maxBytes, bytes } = await cache.use()
  for (const [projectId, ofProject] of byProject) use.addTo('cache', projectId, ofProject)
  use.cacheBytes += bytes
  return { ...use.show(), cacheMaxBytes: maxBytes, disk: await diskOf(engine, abort) }
}

async function diskOf(engine: Engine, abort: AbortSignal): Promise<StorageUse['disk']> {
  if (isRemote(engine)) return null
  const { DockerRootDir = '/' } = (await callEngine(() => engine.info(), { abort })) as { DockerRootDir?: string }
  const disk = await statfs(DockerRootDir).catch(() => null)
  return disk && { totalBytes: disk.blocks * disk.bsize, freeBytes: disk.bavail * disk.bsize }
}

/** Removes everything that builds of a project left. An image that a container uses stays. */
export async function removeBuildsOf(
  projectId: string,
  parts: StorageParts & Parameters<typeof listImageArtifacts>[0],
  abort: AbortSignal,
): Promise<void> {
  for (const artifact of await listImageArtifacts(parts))
    if (artifact.projectId === projectId) await removeImageArtifact(artifact, parts, abort)
  for (const artifact of await listStaticArtifacts(parts.artifactsFolder))
    if (artifact.projectId === projectId) await removeStaticArtifact(artifact, parts.artifactsFolder)
  await removeDependencies(projectId, 0, parts, abort)
  await parts.stages.remove(projectId)
  await parts.cache.remove(projectId)
}

/** Removes the build cache. */
export async function clearBuildCache(
  parts: StorageParts & Parameters<typeof listImageArtifacts>[0],
  abort: AbortSignal,
): Promise<void> {
  for (const kind of ['dependencies', 'stage'] as const) {
    const filters = parts.labels.filter(kind)
    const images = await callEngine((abortSignal) => parts.engine.listImages({ filters, abortSignal }), { abort })
    for (const projectId of new Set(images.map(({ Labels: marks }) => labelIn(marks, 'project'))))
      if (kind === 'stage') await parts.stages.remove(projectId)
      else await removeDependencies(projectId, 0, parts, abort)
  }
  await parts.cache.clear()
}
