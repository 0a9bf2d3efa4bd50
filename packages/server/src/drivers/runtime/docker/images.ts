import { createHash } from 'node:crypto'
import type { ImageInspectInfo } from 'dockerode'
import { digestIn, isImageId } from '../../registry/image-name.ts'
import type { Artifact } from '../runtime.ts'
import { BuildFailed } from '../runtime-errors.ts'
import { callEngine, callEngineOrMissing, type Engine, statusOf } from './engine.ts'
import { type Labels, labelIn } from './labels.ts'
import type { PrivateRepositories } from './private-repositories.ts'
import { NoFreeSubnet } from './subnet-allocator.ts'

export interface ImageParts {
  engine: Engine
  labels: Labels
  imageMirror: string | null
  /** Registries that images may be pulled from. Null: any. */
  registries: readonly string[] | null
  privateRepositories: PrivateRepositories
}

/** The image does not exist locally and cannot be pulled. */
export class ImageMissing extends Error {
  override readonly name = 'ImageMissing'
}

/** The image was built here and no longer exists. */
export class BuiltImageMissing extends ImageMissing {}

/** Refuses an image id: it could be that of any project or any user of the engine. */
export function refuseId(image: string): void {
  if (isImageId(image)) throw new ImageMissing(`An image is named by its name and tag, not by its id (${image.slice(0, 19)}…)`)
}

/** Hash of layers and settings without labels: equal for images that run the same. */
export function contentOf({ RootFS, Config }: ImageInspectInfo): string {
  const { Labels: _labels, Image: _parent, Hostname: _host, ...settings } = Config as unknown as Record<string, unknown>
  const parts = [RootFS?.Layers ?? [], Object.entries(settings).sort(([left], [right]) => (left < right ? -1 : 1))]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** Turns errors about base images and networks into build failures. */
export const asBuildFailure = (error: unknown): unknown =>
  error instanceof ImageMissing || error instanceof NoFreeSubnet ? new BuildFailed('missing_tool', error.message) : error

export async function listImageArtifacts({ engine, labels }: ImageParts) {
  const images = await callEngine((abortSignal) => engine.listImages({ filters: labels.filter('artifact'), abortSignal }))
  return images.flatMap(({ Id, RepoTags, Size, Labels: found }) =>
    namesOf(Id, RepoTags).map((reference) => ({
      kind: 'image' as const,
      reference,
      sizeBytes: Size,
      startCommand: null,
      deploymentId: labelIn(found, 'deployment'),
      projectId: labelIn(found, 'project'),
    })),
  )
}

/** Names of an image. An image whose name was given to the result of a second build is listed by its id. */
export function namesOf(id: string, tags: readonly string[] | null | undefined): string[] {
  const names = (tags ?? []).filter((tag) => tag !== '<none>:<none>')
  return names.length > 0 ? names : [id]
}

/**
 * Removes an image that was built here, or the digest of a pulled one. The engine refuses if a container uses it. A pulled
 * image with other names stays under those.
 */
export async function removeImageArtifact({ reference }: Artifact, parts: ImageParts, abort: AbortSignal): Promise<void> {
  const { engine, labels } = parts
  if (digestIn(reference)) return removeQuietly(reference, engine, abort)
  const image = engine.getImage(reference)
  const found = await callEngineOrMissing(() => image.inspect(), { abort })
  const imageLabels = found?.Config?.Labels
  if (!found || !labels.isThisBerth(imageLabels)) return
  await removeQuietly(reference, engine, abort)
  const project = labelIn(imageLabels, 'project')
  const others = await callEngine((abortSignal) =>
    engine.listImages({ filters: labels.filter('artifact', { project }), abortSignal }),
  )
  if (others.length === 0) await removeDependencies(project, 0, parts, abort)
}

/** Removes the cached installs of a project, except for the newest `keepCount`. */
export async function removeDependencies(
  project: string,
  keepCount: number,
  { engine, labels }: ImageParts,
  abort: AbortSignal,
): Promise<void> {
  const filters = labels.filter('dependencies', { project })
  const images = await callEngine((abortSignal) => engine.listImages({ filters, abortSignal }), { abort })
  const old = images.sort((left, right) => right.Created - left.Created).slice(keepCount)
  for (const name of old.flatMap(({ Id, RepoTags }) => namesOf(Id, RepoTags))) await removeQuietly(name, engine, abort)
}

/** Removes an image. Ignores one that is in use or does not exist. */
export async function removeQuietly(reference: string, engine: Engine, abort?: AbortSignal): Promise<void> {
  try {
    await callEngine((abortSignal) => engine.getImage(reference).remove({ abortSignal }), abort ? { abort } : {})
  } catch (error) {
    if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error
  }
}
