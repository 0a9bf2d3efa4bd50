import { statfs } from 'node:fs/promises'
import { type StorageUsage, StorageUsageSum } from '../storage-use.ts'
import type { BuildCache } from './build/build-cache.ts'
import type { BuildStages } from './build/build-stages.ts'
import { listStaticArtifacts, removeStaticArtifact } from './build/build-static.ts'
import { callEngine, type Engine, isRemote } from './engine.ts'
import { listImageArtifacts, removeDependencies, removeImageArtifact } from './images.ts'
import { type Labels, labelIn } from './labels.ts'
import { retryWhileMeasuring } from './run/volume-sizes.ts'

interface StorageParts {
  engine: Engine
  labels: Labels
  cache: BuildCache
  stages: BuildStages
  artifactsFolder: string
}

interface EngineUsage {
  Images?: { Labels?: Record<string, string> | null; Size: number; SharedSize: number }[] | null
}

/** Disk usage of this instance's builds on the engine. Layers that an image shares with others are not counted. */
export async function measureStorage(
  { engine, labels, cache, artifactsFolder }: StorageParts,
  abort: AbortSignal,
): Promise<StorageUsage> {
  const usage = new StorageUsageSum()
  const { Images } = (await retryWhileMeasuring(() => engine.df(), abort)) as EngineUsage
  for (const { Labels: imageLabels, Size, SharedSize } of Images ?? []) {
    if (!labels.isThisBerth(imageLabels ?? undefined)) continue
    const kind = labelIn(imageLabels, 'kind') === 'artifact' ? 'artifact' : 'cache'
    usage.add(kind, labelIn(imageLabels, 'project'), Size - Math.max(0, SharedSize))
  }
  for (const { projectId, sizeBytes } of await listStaticArtifacts(artifactsFolder)) usage.add('artifact', projectId, sizeBytes)
  const { byProject, maxBytes, bytes } = await cache.usage()
  for (const [projectId, ofProject] of byProject) usage.addToProject('cache', projectId, ofProject)
  usage.cacheBytes += bytes
  return { ...usage.result(), cacheMaxBytes: maxBytes, disk: await diskOf(engine, abort) }
}

async function diskOf(engine: Engine, abort: AbortSignal): Promise<StorageUsage['disk']> {
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
    for (const projectId of new Set(images.map(({ Labels: imageLabels }) => labelIn(imageLabels, 'project'))))
      if (kind === 'stage') await parts.stages.remove(projectId)
      else await removeDependencies(projectId, 0, parts, abort)
  }
  await parts.cache.clear()
}
